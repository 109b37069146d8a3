package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/internal/stack"
)

// holdBodies opens connections that send 30 MB of a body of 31 MB, a gigabit in a second together: over the loopback at
// any pace the attacker would take the processors from the others, and not Envoy's memory.
func holdBodies(ctx context.Context, t *target) (string, []string, error) {
	const connections, sent, piece, pause = 40, 30 << 20, 1 << 20, 300 * time.Millisecond
	block := []byte(strings.Repeat("a", piece))
	total := make(chan int, connections)
	for range connections {
		go func() {
			n := 0
			defer func() { total <- n }()
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", stack.Address(t.requestsPort))
			if err != nil {
				return
			}
			defer c.Close()
			deadline, _ := ctx.Deadline()
			_ = c.SetDeadline(deadline)
			head := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Type: "+
				"application/json\r\nContent-Length: %d\r\n\r\n{\"prompt\":\"", sent+piece)
			if _, err := c.Write([]byte(head)); err != nil {
				return
			}
			for n < sent {
				written, err := c.Write(block)
				n += written
				if err != nil {
					return
				}
				sleep(ctx, pause)
			}
			// Until the attack ends, or Envoy does away with the connection.
			_, _ = c.Read(make([]byte, 1))
		}()
	}
	bytes := 0
	for range connections {
		bytes += <-total
	}
	return fmt.Sprintf("%d connections with 30 MB each; %d MB were taken", connections, bytes>>20), nil, nil
}

// trick sends bodies that the filter refuses when it reads them: one that a server has seen has passed unread.
// Management paths must not be reached at all.
func trick(ctx context.Context, t *target) (string, []string, error) {
	const chat, unreadable = "/v1/chat/completions", `{"model":["not a name"],"messages":[]}`
	encoded := func(values ...string) http.Header { return http.Header{"Content-Encoding": values} }
	tries := []struct {
		path, body string
		header     http.Header
	}{
		{chat, unreadable, encoded("x")}, {chat, unreadable, encoded("")},
		{chat, unreadable, encoded("identity, identity")},
		{chat, unreadable, encoded("identity", "x")}, {"/v1/%63hat/completions", unreadable, nil},
		{"/v1/chat%2fcompletions", unreadable, nil},
		{"/v1/chat/completion%73?a=b", unreadable, nil}, {"/v1/chat/completions/", unreadable, nil},
		{"/v1/load_lora_adapter", "{}", nil}, {"/v1/unload_lora_adapter", "{}", nil}, {"/sleep?level=1", "{}", nil},
		{"/wake_up", "{}", nil},
		{"/collective_rpc", "{}", nil}, {"/reset_prefix_cache", "{}", nil}, {"/v1/%6coad_lora_adapter", "{}", nil},
		{"/sleep/", "{}", nil}, {"/%73leep", "{}", nil},
	}
	ctx, end := whole(ctx)
	defer end()
	var leaks []string
	for _, try := range tries {
		got, err := post(ctx, t.url(try.path), try.body, try.header)
		if err != nil {
			return "", nil, err
		}
		if got.server != "" {
			leaks = append(leaks,
				fmt.Sprintf("POST %s%s reached %s unread (%d)", try.path, shown(try.header), got.server, got.status))
		}
		sleep(ctx, 20*time.Millisecond)
	}
	return fmt.Sprintf("%d paths and encodings", len(tries)), leaks, nil
}

// whole is the time for what is tried once, however slow the machine is.
func whole(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
}

func shown(header http.Header) string {
	if values, ok := header["Content-Encoding"]; ok {
		return fmt.Sprintf(" with content-encoding %q", values)
	}
	return ""
}

// forged are headers by which routing sidecars, engines and Envoy itself let somebody say where a request goes.
var forged = []string{
	"x-prefiller-host-port", "x-prefiller-url", "x-encoder-hosts-ports", "x-data-parallel-host-port",
	"mif-prefill-endpoint", "mif-encode-endpoints",
	"mif-anything-else", "x-gateway-destination-endpoint", "x-envoy-original-dst-host",
}

func forgeHeaders(ctx context.Context, t *target) (string, []string, error) {
	const nowhere = "127.0.0.1:1"
	header := http.Header{}
	for _, name := range forged {
		header.Set(name, nowhere)
	}
	const tries = 20
	ctx, end := whole(ctx)
	defer end()
	var leaks []string
	for i := range tries {
		body := fmt.Sprintf(`{"model":"sim-model","max_tokens":1,"prompt":"forged %d"}`, i)
		got, err := post(ctx, t.url("/v1/completions"), body, header)
		if err != nil {
			return "", nil, err
		}
		if got.server == "" {
			leaks = append(leaks, fmt.Sprintf("a request with forged headers is answered %d by Envoy", got.status))
		}
		sleep(ctx, 20*time.Millisecond)
	}
	for i := range simCount {
		var received []sim.Received
		if err := stack.Get(t.server(i, "/sim/requests"), &received); err != nil {
			return "", nil, err
		}
		for _, r := range received {
			for name, values := range r.Headers {
				if slices.Contains(values, nowhere) && strings.Contains(r.Body, "forged") {
					leaks = append(leaks, fmt.Sprintf("the header %s of a client reaches servers", name))
				}
			}
		}
	}
	slices.Sort(leaks)
	return fmt.Sprintf("%d requests with %d headers", tries, len(forged)), slices.Compact(leaks), nil
}
