package tokens

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// grpcClient makes unary calls of gRPC over HTTP/2 without TLS: one message there, one back, none compressed
// (github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
type grpcClient struct {
	host   string
	client *http.Client
}

// grpcPing is for how long a connection may be silent before the server is asked whether it is there, and for how long
// it may take to say so. All calls share the connection: without this they would go on to a machine that is gone.
const grpcPing = 5 * time.Second

// newGRPC connects, when it is first used, to an address of a network: tcp or unix.
func newGRPC(network, address string, ping time.Duration) *grpcClient {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	dialer := &net.Dialer{Timeout: backendTimeout}
	host := "localhost"
	if network == "tcp" {
		host = address
	}
	return &grpcClient{host, &http.Client{CheckRedirect: stay, Transport: &http.Transport{
		Protocols: protocols, DisableCompression: true, IdleConnTimeout: 10 * time.Minute,
		HTTP2: &http.HTTP2Config{SendPingTimeout: ping, PingTimeout: ping},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
	}}}
}

// grpcError is what a server says of a call that failed.
type grpcError struct {
	code    int
	message string
}

// Error implements error.
func (e *grpcError) Error() string {
	if e.message == "" {
		return fmt.Sprintf("gRPC status %d", e.code)
	}
	return fmt.Sprintf("gRPC status %d: %s", e.code, e.message)
}

// The status codes that are told apart.
const (
	grpcOK            = 0
	grpcUnimplemented = 12
	grpcInternal      = 13
)

const grpcType = "application/grpc"

// call calls a method, such as /package.Service/Method, and returns its answer. What the server says is a grpcError.
func (c *grpcClient) call(ctx context.Context, method string, message []byte) ([]byte, error) {
	framed := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.host+method,
		bytes.NewReader(append(framed, message...)))
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"Content-Type": {grpcType}, "Te": {"trailers"}, "User-Agent": {"pintle"}}
	if deadline, ok := ctx.Deadline(); ok {
		left := max(time.Until(deadline).Milliseconds(), 1)
		request.Header.Set("Grpc-Timeout", strconv.FormatInt(left, 10)+"m")
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, unanswered(method, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return nil, unanswered(method, err)
	}
	if response.StatusCode != http.StatusOK ||
		!strings.HasPrefix(response.Header.Get("Content-Type"), grpcType) {
		return nil, fmt.Errorf("%s answers %s, which is not gRPC", method, response.Status)
	}
	return unframe(body, response)
}

// unframe takes an answer apart. Its status stands behind the message, or, when there is none, with the headers.
func unframe(body []byte, response *http.Response) ([]byte, error) {
	said := response.Trailer
	if said.Get("Grpc-Status") == "" {
		said = response.Header
	}
	code, err := strconv.Atoi(cmp.Or(said.Get("Grpc-Status"), "none"))
	if err != nil {
		return nil, errors.New("an answer of gRPC has no status, or is too long")
	}
	if code != grpcOK {
		message := said.Get("Grpc-Message")
		if plain, err := url.PathUnescape(message); err == nil {
			message = plain
		}
		return nil, &grpcError{code, message}
	}
	if len(body) < 5 || body[0] != 0 || uint64(binary.BigEndian.Uint32(body[1:])) != uint64(len(body)-5) {
		return nil, errors.New("an answer of gRPC is not one message")
	}
	return body[5:], nil
}
