package picker

import (
	"context"
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
		endpoints += fmt.Sprintf("- {name: %s, address: 127.0.0.1, port: \"%d\", labels: {%s}}\n", s.name, s.port,
			labelText(s.labels))
	}
	config, list := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "endpoints.yaml")
	document = strings.Replace(document, "plugins:\n",
		"plugins:\n- {type: file-discovery, parameters: {path: "+list+"}}\n", 1) +
		"dataLayer: {discovery: {pluginRef: file-discovery}}\n"
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

// answer is what the picker makes of a request: the endpoints in its order, and the sums of their scores.
type answer struct {
	ranked  []string
	totals  map[string]float64
	headers map[string]string
	status  int
}

// ask sends a request as Envoy does, and ends it at once.
func (p *picker) ask(t testing.TB, path, body string) *answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	stream, err := p.client.Process(ctx)
	if err != nil {
		t.Fatal(err)
	}
	headers := &corev3.HeaderMap{}
	for _, h := range [][2]string{{":method", "POST"}, {":path", path}, {":authority", "m"},
		{"content-type", "application/json"}, {"content-length", strconv.Itoa(len(body))}} {
		headers.Headers = append(headers.Headers, &corev3.HeaderValue{Key: h[0], RawValue: []byte(h[1])})
	}
	sent := []*extproc.ProcessingRequest{
		{Request: &extproc.ProcessingRequest_RequestHeaders{RequestHeaders: &extproc.HttpHeaders{Headers: headers}}},
		{Request: &extproc.ProcessingRequest_RequestBody{
			RequestBody: &extproc.HttpBody{Body: []byte(body), EndOfStream: true}}},
	}
	for _, request := range sent {
		if err := stream.Send(request); err != nil && err != io.EOF {
			t.Fatal(err)
		}
	}
	for {
		response, err := stream.Recv()
		if err != nil {
			t.Fatalf("the picker ended the stream: %v", err)
		}
		if a := read(response); a != nil {
			_ = stream.CloseSend()
			return a
		}
	}
}

// read returns the answer in one message of the picker, nil when it is not there.
func read(response *extproc.ProcessingResponse) *answer {
	a := &answer{totals: map[string]float64{}, headers: map[string]string{}}
	if refused := response.GetImmediateResponse(); refused != nil {
		a.status = int(refused.GetStatus().GetCode())
		return a
	}
	common := response.GetRequestHeaders().GetResponse()
	if common == nil {
		return nil
	}
	for _, h := range common.GetHeaderMutation().GetSetHeaders() {
		a.headers[strings.ToLower(h.GetHeader().GetKey())] = string(h.GetHeader().GetRawValue())
	}
	a.ranked = strings.Split(a.headers["x-gateway-destination-endpoint"], ",")
	lb := response.GetDynamicMetadata().GetFields()["envoy.lb"].GetStructValue().GetFields()
	for address, total := range lb["x-gateway-destination-endpoint-scores"].GetStructValue().GetFields() {
		a.totals[address] = total.GetNumberValue()
	}
	return a
}
