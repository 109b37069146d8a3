package picker

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"
)

// picker is a running endpoint picker.
type picker struct {
	client extproc.ExternalProcessorClient
}

// startPicker runs the picker with a document, to which what finds the servers is added.
func startPicker(t testing.TB, document string, servers []*server) *picker {
	t.Helper()
	dir := t.TempDir()
	endpoints := "endpoints:\n"
	for _, s := range servers {
		endpoints += fmt.Sprintf("- {name: %s, address: %s, port: \"%d\", labels: {%s}}\n", s.name, s.host, s.port,
			labelText(s.labels))
	}
	config, list := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "endpoints.yaml")
	document = strings.Replace(document, "plugins:\n",
		"plugins:\n- {type: file-discovery, parameters: {path: "+list+"}}\n", 1)
	if strings.Contains(document, "dataLayer:\n") {
		document = strings.Replace(document, "dataLayer:\n",
			"dataLayer:\n  discovery: {pluginRef: file-discovery}\n", 1)
	} else {
		document += "dataLayer: {discovery: {pluginRef: file-discovery}}\n"
	}
	for path, text := range map[string]string{config: document, list: endpoints} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ports := freePorts(t, 3)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Getenv("PINTLE_PICKER"), "--config-file="+config, "--pool-name=file-discovery",
		"--pool-namespace=default",
		fmt.Sprintf("--grpc-port=%d", ports[0]), fmt.Sprintf("--grpc-health-port=%d", ports[1]),
		fmt.Sprintf("--metrics-port=%d", ports[2]),
		"--metrics-endpoint-auth=false", "--secure-serving=false", "--emit-endpoint-scores=true", "--tracing=false",
		"--enable-pprof=false",
		"--allow-experimental-plugins=true", "--v=1")
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if text, err := os.ReadFile(log.Name()); err == nil && os.Getenv("PINTLE_PICKER_LOG") != "" {
			t.Logf("the picker's log ends with\n%s", text[max(0, len(text)-600):])
		}
	})
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	waitFor(t, "the picker to listen", func() bool {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return &picker{extproc.NewExternalProcessorClient(connection)}
}

func labelText(labels map[string]string) string {
	var pairs []string
	for key, value := range labels {
		pairs = append(pairs, key+": "+strconv.Quote(value))
	}
	return strings.Join(pairs, ", ")
}

func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// answer is what becomes of a request: the endpoints in the picker's order, the sums of their scores, the headers that
// the request and its answer get; or the status and reason of a refusal.
type answer struct {
	ranked            []string
	totals            map[string]float64
	headers, response map[string]string
	status            int
	dropped           string
}

// SetHeader implements scoring.HeaderSetter.
func (a *answer) SetHeader(name string, value []byte) { a.response[name] = string(value) }

// exchange is a request that the picker has routed, and whose answer has not ended.
type exchange struct {
	stream extproc.ExternalProcessor_ProcessClient
	*answer
}

// ask sends a request as Envoy does.
func (p *picker) ask(t testing.TB, r request) *exchange {
	t.Helper()
	stream, err := p.client.Process(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x := &exchange{stream, &answer{headers: map[string]string{}, response: map[string]string{}}}
	headers := &corev3.HeaderMap{}
	for _, h := range [][2]string{{":method", "POST"}, {":path", r.path}, {":authority", "m"},
		{"content-type", "application/json"}, {"content-length", strconv.Itoa(len(r.body))}} {
		headers.Headers = append(headers.Headers, &corev3.HeaderValue{Key: h[0], RawValue: []byte(h[1])})
	}
	for name, value := range r.headers {
		headers.Headers = append(headers.Headers, &corev3.HeaderValue{Key: name, RawValue: []byte(value)})
	}
	x.send(t, &extproc.ProcessingRequest{
		Request: &extproc.ProcessingRequest_RequestHeaders{RequestHeaders: &extproc.HttpHeaders{Headers: headers}}})
	x.send(t, &extproc.ProcessingRequest{MetadataContext: hint(t, r), Request: &extproc.ProcessingRequest_RequestBody{
		RequestBody: &extproc.HttpBody{Body: []byte(r.body), EndOfStream: true}}})
	x.await(t, func(response *extproc.ProcessingResponse) bool {
		return x.refused(response) || x.routed(response)
	})
	if x.status == 0 {
		x.await(t, func(response *extproc.ProcessingResponse) bool {
			return response.GetRequestBody().GetResponse().GetBodyMutation().GetStreamedResponse().GetEndOfStream()
		})
	}
	return x
}

// hint is the metadata by which a gateway restricts a request to some servers.
func hint(t testing.TB, r request) *corev3.Metadata {
	t.Helper()
	if !r.restricted {
		return nil
	}
	list := make([]any, len(r.subset))
	for i, address := range r.subset {
		list[i] = address
	}
	fields, err := structpb.NewStruct(map[string]any{"x-gateway-destination-endpoint-subset": list})
	if err != nil {
		t.Fatal(err)
	}
	return &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"envoy.lb.subset_hint": fields}}
}

func (x *exchange) send(t testing.TB, message *extproc.ProcessingRequest) {
	t.Helper()
	if err := x.stream.Send(message); err != nil && err != io.EOF {
		t.Fatal(err)
	}
}

// await reads what the picker says until what was waited for has come.
func (x *exchange) await(t testing.TB, come func(response *extproc.ProcessingResponse) bool) {
	t.Helper()
	for {
		response, err := x.stream.Recv()
		if err != nil {
			t.Fatalf("the picker ended the stream: %v", err)
		}
		if come(response) {
			return
		}
	}
}

// begin has the answer begin: its headers and its first piece.
func (x *exchange) begin(t testing.TB) {
	t.Helper()
	x.head(t)
	x.body(t, "data: {}\n\n", false)
}

// end has the answer end.
func (x *exchange) end(t testing.TB) {
	t.Helper()
	if x.status == 0 {
		x.head(t)
		x.body(t, "data: [DONE]\n\n", true)
	}
	_ = x.stream.CloseSend()
	for {
		if _, err := x.stream.Recv(); err != nil {
			return
		}
	}
}

// head sends the headers of the answer once.
func (x *exchange) head(t testing.TB) {
	t.Helper()
	if x.response["sent"] != "" {
		return
	}
	x.response["sent"] = "yes"
	headers := &corev3.HeaderMap{Headers: []*corev3.HeaderValue{
		{Key: ":status", RawValue: []byte("200")}, {Key: "content-type", RawValue: []byte("text/event-stream")}}}
	x.send(t, &extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_ResponseHeaders{
		ResponseHeaders: &extproc.HttpHeaders{Headers: headers}}})
	x.await(t, func(response *extproc.ProcessingResponse) bool {
		common := response.GetResponseHeaders().GetResponse()
		for _, h := range common.GetHeaderMutation().GetSetHeaders() {
			x.response[strings.ToLower(h.GetHeader().GetKey())] = string(h.GetHeader().GetRawValue())
		}
		return common != nil
	})
}

func (x *exchange) body(t testing.TB, text string, last bool) {
	t.Helper()
	x.send(t, &extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_ResponseBody{
		ResponseBody: &extproc.HttpBody{Body: []byte(text), EndOfStream: last}}})
	x.await(t, func(response *extproc.ProcessingResponse) bool {
		return response.GetResponseBody().GetResponse() != nil
	})
}

// refused takes a refusal from one message of the picker.
func (x *exchange) refused(response *extproc.ProcessingResponse) bool {
	refused := response.GetImmediateResponse()
	x.status = int(refused.GetStatus().GetCode())
	for _, h := range refused.GetHeaders().GetSetHeaders() {
		if strings.EqualFold(h.GetHeader().GetKey(), "x-llm-d-request-dropped-reason") {
			x.dropped = string(h.GetHeader().GetRawValue())
		}
	}
	return refused != nil
}

// routed takes where the request goes from one message of the picker.
func (x *exchange) routed(response *extproc.ProcessingResponse) bool {
	common := response.GetRequestHeaders().GetResponse()
	if common == nil {
		return false
	}
	for _, h := range common.GetHeaderMutation().GetSetHeaders() {
		x.headers[strings.ToLower(h.GetHeader().GetKey())] = string(h.GetHeader().GetRawValue())
	}
	x.ranked = strings.Split(x.headers["x-gateway-destination-endpoint"], ",")
	x.totals = map[string]float64{}
	lb := response.GetDynamicMetadata().GetFields()["envoy.lb"].GetStructValue().GetFields()
	for address, total := range lb["x-gateway-destination-endpoint-scores"].GetStructValue().GetFields() {
		x.totals[address] = total.GetNumberValue()
	}
	return true
}
