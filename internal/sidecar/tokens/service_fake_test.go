package tokens

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// serviceMessages are the messages of the service, a field as number, name and type; ? is one that may be left out, * a
// repeated one.
var serviceMessages = map[string]string{
	"InitializeTokenizerRequest":  "1 model_name string, 2 enable_thinking bool, 3 add_generation_prompt bool",
	"InitializeTokenizerResponse": "1 success bool, 2 error_message string",
	"RenderCompletionRequest":     "1 model_name string, 2 prompt string",
	"RenderCompletionResponse": "1 request_id string, 2 token_ids *uint32, 3 success bool, " +
		"4 error_message string",
	"RenderChatCompletionRequest": "1 model_name string, 2 messages *ChatMessage, 3 tools_json ?string, " +
		"4 chat_template string, 5 add_generation_prompt ?bool, 6 continue_final_message bool, " +
		"7 chat_template_kwargs ?string",
	"ChatMessage": "1 role string, 2 content ?string, 3 content_parts *ContentPart, 4 tool_calls_json ?string",
	"ContentPart": "1 type string, 2 text ?string, 3 image_url ?ImageUrl",
	"ImageUrl":    "1 url string",
	"RenderChatCompletionResponse": "1 request_id string, 2 token_ids *uint32, 3 features MultiModalFeatures, " +
		"4 success bool, 5 error_message string",
	"MultiModalFeatures": "1 mm_hashes *Hashes, 2 mm_placeholders *Places",
	// What the service has as maps are lists of pairs on the wire.
	"Hashes":     "1 key string, 2 value StringList",
	"StringList": "1 values *string",
	"Places":     "1 key string, 2 value Ranges",
	"Ranges":     "1 ranges *Range",
	"Range":      "1 offset int32, 2 length int32",
}

var serviceFile = sync.OnceValue(func() protoreflect.FileDescriptor {
	var text strings.Builder
	text.WriteString(`name: "tokenizer.proto" package: "tokenization" syntax: "proto3"`)
	for name, fields := range serviceMessages {
		fmt.Fprintf(&text, " message_type { name: %q", name)
		optional := ""
		for field := range strings.SplitSeq(fields, ", ") {
			parts := strings.Fields(field)
			kind := strings.TrimLeft(parts[2], "?*")
			label, of := "LABEL_OPTIONAL", "type: TYPE_"+strings.ToUpper(kind)
			if _, ok := serviceMessages[kind]; ok {
				of = `type: TYPE_MESSAGE type_name: ".tokenization.` + kind + `"`
			}
			switch {
			case strings.HasPrefix(parts[2], "*"):
				label = "LABEL_REPEATED"
			case strings.HasPrefix(parts[2], "?") && !strings.Contains(of, "MESSAGE"):
				of += fmt.Sprintf(" proto3_optional: true oneof_index: %d", strings.Count(optional, "oneof_decl"))
				optional += fmt.Sprintf(" oneof_decl { name: %q }", "_"+parts[1])
			}
			fmt.Fprintf(&text, " field { name: %q number: %s label: %s %s }", parts[1], parts[0], label, of)
		}
		text.WriteString(optional + " }")
	}
	var file descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(text.String()), &file); err != nil {
		panic(err)
	}
	built, err := protodesc.NewFile(&file, nil)
	if err != nil {
		panic(err)
	}
	return built
})

func serviceMessage(name string) proto.Message {
	return dynamicpb.NewMessage(serviceFile().Messages().ByName(protoreflect.Name(name)))
}

// tokenizerService is a reference server: it speaks the service's protocol by Google's library for its messages.
type tokenizerService struct {
	t *testing.T

	mu     sync.Mutex
	loaded bool
	// asked are the calls, as method and message in text.
	asked []string
	// answers are by method, in text; one that begins with a number is a status of gRPC in place of it.
	answers map[string]string
}

// startService starts a server on a network.
func startService(t *testing.T, network, address string) (*tokenizerService, string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	s := &tokenizerService{t: t, answers: map[string]string{"InitializeTokenizer": `success: true`,
		"RenderCompletion":     `success: true token_ids: [1, 2, 300]`,
		"RenderChatCompletion": `success: true token_ids: [4, 5]`}}
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: s, Protocols: protocols}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return s, l.Addr().String()
}

func (s *tokenizerService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, found := strings.CutPrefix(r.URL.Path, "/tokenization.TokenizationService/")
	body, err := io.ReadAll(r.Body)
	h := r.Header
	if !found || err != nil || r.ProtoMajor != 2 || h.Get("Content-Type") != "application/grpc" ||
		h.Get("Te") != "trailers" || h.Get("Grpc-Timeout") == "" || len(body) < 5 || body[0] != 0 ||
		int(binary.BigEndian.Uint32(body[1:])) != len(body)-5 {
		s.t.Errorf("no call of gRPC: %s %v, %d bytes, %v", r.URL, h, len(body), err)
		return
	}
	w.Header().Set("Content-Type", "application/grpc")
	answer, refusal := s.answer(method, body[5:])
	if refusal != "" {
		code, message, _ := strings.Cut(refusal, " ")
		w.Header().Set("Grpc-Status", code)
		w.Header().Set("Grpc-Message", strings.ReplaceAll(message, " ", "%20"))
		return
	}
	w.Header().Set("Trailer", "Grpc-Status")
	_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...))
	w.Header().Set("Grpc-Status", "0")
}

func (s *tokenizerService) answer(method string, question []byte) (answer []byte, refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request, response := serviceMessage(method+"Request"), serviceMessage(method+"Response")
	if err := proto.Unmarshal(question, request); err != nil {
		s.t.Errorf("%s: %v", method, err)
	}
	if unknown := request.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		s.t.Errorf("%s: unknown fields %x", method, unknown)
	}
	// The library puts blanks at will into its text.
	text := prototext.MarshalOptions{}.Format(request)
	s.asked = append(s.asked, method+" "+strings.Join(strings.Fields(text), " "))
	said := s.answers[method]
	if method == "InitializeTokenizer" {
		s.loaded = said == "success: true"
	} else if !s.loaded {
		said = "13 nothing is loaded"
	}
	if said != "" && said[0] >= '0' && said[0] <= '9' {
		return nil, said
	}
	if err := prototext.Unmarshal([]byte(said), response); err != nil {
		s.t.Error(err)
	}
	answer, err := proto.Marshal(response)
	if err != nil {
		s.t.Error(err)
	}
	return answer, ""
}

// take returns what was asked, and forgets it.
func (s *tokenizerService) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *tokenizerService) says(method, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[method] = answer
}

func (s *tokenizerService) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded = false
}
