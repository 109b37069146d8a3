// Package push feeds Envoys with snapshots of the pool.
package push

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/snapshot"
)

const (
	// heartbeat is how often an Envoy hears from the sidecar at least. The filter judges by it whether samples
	// are stale: the age of a sample as Envoy sees it is at most an interval and a heartbeat.
	heartbeat        = 50 * time.Millisecond
	pushTimeout      = 2 * time.Second
	firstPushBackoff = 50 * time.Millisecond
	maxPushBackoff   = time.Second
	// refusedPause is the wait after an answer that a retry alone does not change, such as a wrong token.
	refusedPause   = 2 * time.Second
	maxAnswerBytes = 64 << 10
)

// Pusher feeds one Envoy, alone, so that no other Envoy and no scraper waits for it.
type Pusher struct {
	Ingest   config.Ingest
	Interval time.Duration
	Token    *Token
	Pool     *pool.Pool
	Log      *slog.Logger
	Metrics  *metrics.Metrics

	wake     <-chan struct{}
	client   *http.Client
	encoder  encoder
	position snapshot.Position
	// topology is the one that the Envoy holds as far as it is known; 0 sends a full message.
	topology uint64

	mu    sync.Mutex
	state State
}

// State is how a Pusher and its Envoy stand.
type State struct {
	// Accepted is when the Envoy last took a snapshot; zero before the first.
	Accepted time.Time
	// Acknowledged and Holds are the position and the topology of that one.
	Acknowledged snapshot.Position
	Holds        uint64
	// Result is that of the last push, Failure why it failed; empty after an accepted one.
	Result, Failure string
}

// Now returns how things stand.
func (p *Pusher) Now() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Measure has the metrics tell how long ago the Envoy took a snapshot, counted from start before the first.
func (p *Pusher) Measure(start time.Time) {
	p.Metrics.PushAge(p.Ingest.Name, func() time.Duration {
		if accepted := p.Now().Accepted; !accepted.IsZero() {
			return time.Since(accepted)
		}
		return time.Since(start)
	})
}

// outcome is what became of a push.
type outcome struct {
	result string // by which it is counted
	err    error
	// pause is the shortest wait before the next push, 0 for the usual back-off.
	pause time.Duration
	// again asks for a full message at once.
	again bool
}

// Run pushes until ctx ends: at once after a change, though not twice within the interval, and at each heartbeat.
func (p *Pusher) Run(ctx context.Context) {
	p.wake = p.Pool.Watch()
	p.position.Epoch = uint64(time.Now().UnixNano())
	transport := &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}
	if p.Ingest.Socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", p.Ingest.Socket)
		}
	}
	defer transport.CloseIdleConnections()
	p.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	failures := 0
	for p.waitForChange(ctx, failures) {
		start := time.Now()
		o := p.push(ctx, start)
		if ctx.Err() != nil {
			return
		}
		p.record(o, time.Since(start))
		if o.err == nil {
			failures = 0
			pace.Sleep(ctx, time.Until(start.Add(p.Interval)))
			continue
		}
		failures++
		p.topology = 0
		switch {
		case o.again && failures == 1:
		case o.pause > 0:
			pace.Sleep(ctx, o.pause)
		default:
			pace.Sleep(ctx, pace.Jitter(pace.Backoff(firstPushBackoff, failures, maxPushBackoff)))
		}
	}
}

// waitForChange waits until there is something to push and says no when ctx has ended.
func (p *Pusher) waitForChange(ctx context.Context, failures int) bool {
	if failures > 0 {
		return ctx.Err() == nil
	}
	for {
		timer := time.NewTimer(heartbeat)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-p.wake:
		case <-timer.C:
		}
		timer.Stop()
		if p.Pool.Generation() != nil {
			return true
		}
	}
}

// push sends one message and interprets the answer.
func (p *Pusher) push(ctx context.Context, now time.Time) outcome {
	g := p.Pool.Generation()
	p.position.Sequence++
	body, err := p.encoder.message(g, p.position, p.topology != g.ID, now)
	if err != nil {
		return outcome{result: "unencodable", err: err, pause: refusedPause}
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Ingest.URL, bytes.NewReader(body))
	if err != nil {
		return outcome{result: "error", err: err}
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Authorization", "Bearer "+p.Token.get())
	request.Header.Set("User-Agent", "pintle-sidecar")
	response, err := p.client.Do(request)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return outcome{result: "timeout", err: err}
		}
		return outcome{result: "error", err: err}
	}
	defer response.Body.Close()
	p.Metrics.PushedBytes(p.Ingest.Name, len(body))
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err == nil && response.StatusCode == http.StatusNoContent {
		p.topology = g.ID
		return outcome{result: "accepted"}
	}
	return p.refused(response, answer)
}

// answerBody is the ingest listener's answer to what it refuses.
type answerBody struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Current struct {
		Epoch    uint64 `json:"epoch"`
		Sequence uint64 `json:"sequence"`
	} `json:"current"`
}

func (p *Pusher) refused(response *http.Response, answer []byte) outcome {
	var body answerBody
	_ = json.Unmarshal(answer, &body) // what is no JSON has no code
	o := outcome{
		result: fmt.Sprintf("status_%d", response.StatusCode),
		err:    fmt.Errorf("the ingest listener answered %s: %s %s", response.Status, body.Error.Code, pool.OneLine(body.Error.Message)),
	}
	switch {
	case response.StatusCode == http.StatusConflict && body.Error.Code == "older":
		p.position.Epoch = max(p.position.Epoch, body.Current.Epoch+1)
		o.result, o.again = "older", true
	case response.StatusCode == http.StatusConflict && body.Error.Code == "unknown_topology":
		o.result, o.again = "unknown_topology", true
	case response.StatusCode >= 500 || response.StatusCode == http.StatusConflict:
	default:
		o.pause = refusedPause
	}
	return o
}

// record counts a push, and logs when its result differs from the last one's.
func (p *Pusher) record(o outcome, took time.Duration) {
	p.Metrics.Pushed(p.Ingest.Name, o.result, took)
	p.mu.Lock()
	changed := p.state.Result != o.result
	p.state.Result, p.state.Failure = o.result, ""
	if o.err == nil {
		p.state.Accepted, p.state.Acknowledged, p.state.Holds = time.Now(), p.position, p.topology
	} else {
		p.state.Failure = pool.OneLine(o.err.Error())
	}
	p.mu.Unlock()
	switch {
	case o.err != nil && changed:
		p.Log.Warn("push failed", "target", p.Ingest.Name, "result", o.result, "error", pool.OneLine(o.err.Error()))
	case o.err == nil && changed:
		p.Log.Info("push accepted", "target", p.Ingest.Name, "epoch", p.position.Epoch)
	default:
		p.Log.Debug("pushed", "target", p.Ingest.Name, "result", o.result, "took", took)
	}
}

// Health says why the Envoy has not heard the sidecar within that time; empty when it has.
func (p *Pusher) Health(now time.Time, within time.Duration) string {
	state := p.Now()
	if !state.Accepted.IsZero() && now.Sub(state.Accepted) <= within {
		return ""
	}
	last := "never"
	if !state.Accepted.IsZero() {
		last = now.Sub(state.Accepted).Round(time.Millisecond).String() + " ago"
	}
	reason := fmt.Sprintf("envoy.ingest %s: last accepted push: %s", p.Ingest.Name, last)
	if state.Failure != "" {
		reason += "; last failure: " + state.Failure
	}
	return reason
}
