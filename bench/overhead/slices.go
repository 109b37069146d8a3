package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/internal/wrk"
)

// clients are connections to an Envoy that stay open between rounds. What tells 2 % from nothing needs many short
// rounds, close to each other, as a machine's neighbours come and go; wrk cannot be started twice a second.
type clients struct {
	connections []connection
	requests    [variety][]byte
}

// variety is how many different prompts are sent in turns. One alone goes to the one server that has it in its cache,
// and an Envoy that hears of other gateways' requests sends it to two: two servers' connections would be compared with
// one's.
const variety = 64

type connection struct {
	net.Conn
	*bufio.Reader
	took []time.Duration
	// sent is how many requests it has sent in all.
	sent int64
}

func newClients(v *variant, body []byte) (*clients, error) {
	address := stack.Address(v.requestsPort)
	c := &clients{}
	for i := range c.requests {
		c.requests[i] = fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nhost: %s\r\n"+
			"content-type: application/json\r\ncontent-length: %d\r\n\r\n%s", address, len(body),
			bytes.Replace(body, []byte(`"abc`), fmt.Appendf(nil, `"%03d`, i), 1))
	}
	for range requestConnections {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return nil, err
		}
		c.connections = append(c.connections, connection{Conn: conn, Reader: bufio.NewReader(conn)})
	}
	return c, nil
}

func (c *clients) close() {
	for i := range c.connections {
		_ = c.connections[i].Close()
	}
}

// sent is how many requests have been sent over all connections, those of settling included.
func (c *clients) sent() (n int64) {
	for i := range c.connections {
		n += c.connections[i].sent
	}
	return n
}

// settle is how long an Envoy is loaded before what is counted: until then the sidecar of the one before may still be
// busy with what it follows.
const settle = 120 * time.Millisecond

// answerLimit is how long an answer may take, as by wrk.
const answerLimit = 10 * time.Second

// measure loads the Envoy over all connections.
func (c *clients) measure(ctx context.Context, v *variant, duration time.Duration) (*measurement, error) {
	var tasks, others sync.WaitGroup
	if v.meanwhile != nil {
		during, cancel := context.WithCancel(ctx)
		others.Go(func() { v.meanwhile(during) })
		defer others.Wait()
		defer cancel()
	}
	from := time.Now().Add(settle)
	errs := make([]error, len(c.connections))
	for i := range c.connections {
		tasks.Go(func() {
			errs[i] = c.connections[i].load(ctx, &c.requests, i*variety/requestConnections, from, from.Add(duration))
		})
	}
	time.Sleep(settle)
	before, err := v.envoy.CPU()
	tasks.Wait()
	if err != nil {
		return nil, err
	}
	m := &measurement{Result: wrk.Result{Micros: time.Since(from).Microseconds()}}
	after, err := v.envoy.CPU()
	if err != nil {
		return nil, err
	}
	m.cpu = after - before
	var took []time.Duration
	for i := range c.connections {
		if errs[i] != nil {
			return nil, fmt.Errorf("%s: %w", v.name, errs[i])
		}
		took = append(took, c.connections[i].took...)
	}
	if len(took) == 0 {
		return nil, fmt.Errorf("%s answered nothing within %v", v.name, duration)
	}
	slices.Sort(took)
	m.Requests = int64(len(took))
	m.P50, m.P99 = series.Percentile(took, 50).Microseconds(), series.Percentile(took, 99).Microseconds()
	return m, ctx.Err()
}

// load sends one request after the other, beginning with some prompt, and notes how long those took that began at from
// or later.
func (c *connection) load(ctx context.Context, requests *[variety][]byte, first int, from, until time.Time) error {
	c.took = c.took[:0]
	if err := c.SetDeadline(until.Add(answerLimit)); err != nil {
		return err
	}
	for now, i := time.Now(), first; ctx.Err() == nil; i++ {
		if _, err := c.Write(requests[i%variety]); err != nil {
			return err
		}
		response, err := http.ReadResponse(c.Reader, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("got %s", response.Status)
		}
		end := time.Now()
		c.sent++
		if !now.Before(from) {
			c.took = append(c.took, end.Sub(now))
		}
		if now = end; now.After(until) {
			break
		}
	}
	return nil
}
