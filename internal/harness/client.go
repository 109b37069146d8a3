package harness

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// requestLimit is how long an exchange may take on a busy machine.
const requestLimit = 30 * time.Second

// Client returns a client that speaks HTTP/1.1 only or, with http2, HTTP/2 without TLS only. Its connections are its
// own.
func Client(t testing.TB, http2 bool) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true,
		ExpectContinueTimeout: requestLimit}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: requestLimit}
}

// Answer is a response that has been read.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Server is the name of the simulated server that answered, empty when Envoy did.
func (a Answer) Server() string { return a.Header.Get("X-Sim-Server") }

// Send makes a request with a client and reads the answer.
func Send(t testing.TB, client *http.Client, request *http.Request) Answer {
	t.Helper()
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", request.Method, request.URL, err)
	}
	return read(t, response)
}

func read(t testing.TB, response *http.Response) Answer {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("answer %s: %v", response.Status, err)
	}
	return Answer{response.StatusCode, response.Header, string(body)}
}

// Request builds a request with a JSON body, of unknown length when chunked.
func Request(t testing.TB, method, url, body string, chunked bool) *http.Request {
	t.Helper()
	var reader io.Reader = strings.NewReader(body)
	if chunked {
		reader = struct{ io.Reader }{reader}
	}
	request, err := http.NewRequest(method, url, reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	return request
}

// Conn is a client connection on which a test writes bytes as it likes.
type Conn struct {
	net.Conn
	reader *bufio.Reader
}

// Dial connects to a listener.
func Dial(t testing.TB, address string) *Conn {
	t.Helper()
	c, err := net.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(requestLimit)); err != nil {
		t.Fatal(err)
	}
	return &Conn{c, bufio.NewReader(c)}
}

// Say writes text as it is.
func (c *Conn) Say(t testing.TB, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatalf("write to %v: %v", c.RemoteAddr(), err)
	}
}

// Hear reads the next response to a request of method.
func (c *Conn) Hear(t testing.TB, method string) Answer {
	t.Helper()
	response, err := http.ReadResponse(c.reader, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("response from %v: %v", c.RemoteAddr(), err)
	}
	return read(t, response)
}
