package e2e

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/pintle-dev/pintle/internal/harness"
)

// transcoded is where the transcoder takes JSON for the method test.Chat/Complete.
const transcoded = "/grpc" + chatPath

// chatService is a service with chats for requests.
const chatService = `name: "test.proto" package: "test" syntax: "proto3"
	message_type { name: "Message"
		field { name: "role" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
		field { name: "content" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL } }
	message_type { name: "Request"
		field { name: "model" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
		field { name: "messages" number: 2 type: TYPE_MESSAGE label: LABEL_REPEATED type_name: ".test.Message" }
		field { name: "max_tokens" number: 3 type: TYPE_INT32 label: LABEL_OPTIONAL } }
	message_type { name: "Answer"
		field { name: "text" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL } }
	service { name: "Chat"
		method { name: "Complete" input_type: ".test.Request" output_type: ".test.Answer" options {} } }`

// chatDescriptor is chatService as protoc would write it, with the option google.api.http: {post: transcoded, body:
// "*"}.
func chatDescriptor(t *testing.T) []byte {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{}
	if err := prototext.Unmarshal([]byte(chatService), file); err != nil {
		t.Fatal(err)
	}
	rule := protowire.AppendString(protowire.AppendTag(nil, 4, protowire.BytesType), transcoded)
	rule = protowire.AppendString(protowire.AppendTag(rule, 7, protowire.BytesType), "*")
	file.Service[0].Method[0].Options.ProtoReflect().SetUnknown(protowire.AppendBytes(
		protowire.AppendTag(nil, 72295728, protowire.BytesType), rule))
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// message is a chat that the transcoder made of JSON.
func message(content string) string {
	part := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "user")
	part = protowire.AppendString(protowire.AppendTag(part, 2, protowire.BytesType), content)
	whole := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "sim-model")
	whole = protowire.AppendBytes(protowire.AppendTag(whole, 2, protowire.BytesType), part)
	return string(protowire.AppendVarint(protowire.AppendTag(whole, 3, protowire.VarintType), 2))
}

// answerCall answers a call of gRPC with what it was.
func answerCall(w http.ResponseWriter, r *http.Request, name string) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Trailer", "Grpc-Status")
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("X-Sim-Server", name)
	text := r.URL.Path + " " + sha(string(body[min(len(body), 5):]))
	answer := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), text)
	_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...))
	w.Header().Set("Grpc-Status", "0")
}

// TestTranscoder: before a transcoder to gRPC Pintle reads the JSON, and behind it goes without the body. Either way
// the call reaches a server whole, and its answer the client as JSON.
func TestTranscoder(t *testing.T) {
	transcoder := filter("grpc_json_transcoder", "grpc_json_transcoder.v3.GrpcJsonTranscoder",
		"services: [test.Chat]", "proto_descriptor_bin: "+base64.StdEncoding.EncodeToString(chatDescriptor(t)))
	o := harness.Options{Edit: func(config string) string {
		return beside(beside(config, "behind", "", transcoder), "before", transcoder, "")
	}}
	var endpoints []harness.Endpoint
	for _, name := range []string{"best", "busy"} {
		server, err := harness.NewScripted()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		server.Script(t, func(w http.ResponseWriter, r *http.Request) { answerCall(w, r, name) })
		endpoints = append(endpoints, harness.Endpoint{Name: name, Address: server.Address,
			Waiting: uint32(len(endpoints)), Models: []string{"sim-model"}})
	}
	plugin := map[string]any{"config": harness.Document(1), "stale": map[string]any{"after": "1h"}}
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			envoy, err := harness.StartWith(o, cell, nil, &harness.Listener{Name: "behind", Plugin: plugin},
				&harness.Listener{Name: "before", Plugin: plugin},
				&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(envoy.Stop)
			envoy.LogOnFailure(t)
			envoy.Publish(t, endpoints...)
			ask := func(listener, body string) harness.Answer {
				return harness.Send(t, harness.Client(t, true), harness.Request(t, http.MethodPost,
					envoy.URL(listener, transcoded), body, false))
			}
			for _, content := range []string{"hello", strings.Repeat("all work ", 30_000)} {
				want := fmt.Sprintf(`{"text":"/test.Chat/Complete %s"}`, sha(message(content)))
				for i := range 8 {
					listener := []string{"behind", "before"}[i%2]
					got := ask(listener, strings.Replace(chatBody, "hello", content, 1))
					if got.Status != http.StatusOK || got.Body != want ||
						listener == "behind" && got.Server() != "best" {
						t.Errorf("transcoder %s: got %d %s from %q, want 200 %s, from the best server behind Pintle",
							listener, got.Status, got.Body, got.Server(), want)
					}
				}
			}
			unknown := strings.Replace(chatBody, "sim-model", "nobody's", 1)
			wantError(t, ask("behind", unknown), http.StatusNotFound, "model_not_found")
			if got := ask("before", unknown); got.Status != http.StatusOK {
				t.Errorf("an unknown model that Pintle does not see: got %d %s, want 200", got.Status, got.Body)
			}
		})
	}
}
