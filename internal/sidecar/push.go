package sidecar

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

// pusher feeds one Envoy, alone, so that no other Envoy and no scraper waits for it.
type pusher struct {
	ingest   Ingest
	interval time.Duration
	token    *tokenSource
	pool     *pool
	log      *slog.Logger
	metrics  *metrics

	wake     <-chan struct{}
	client   *http.Client
	encoder  encoder
	position snapshot.Position
	// topology is the one that the Envoy holds as far as it is known; 0 sends a full message.
	topology uint64

	mu       sync.Mutex
	accepted time.Time // zero before the first
	// acknowledged and holds are the position and the topology of the last accepted message.
	acknowledged snapshot.Position
	holds        uint64
	result       string // of the last push
	failure      string // why the last push failed; empty after an accepted one
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

// run pushes until ctx ends: at once after a change, though not twice within the interval, and at each heartbeat.
func (p *pusher) run(ctx context.Context) {
	transport := &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}
	if p.ingest.Socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", p.ingest.Socket)
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
			sleep(ctx, time.Until(start.Add(p.interval)))
			continue
		}
		failures++
		p.topology = 0
		switch {
		case o.again && failures == 1:
		case o.pause > 0:
			sleep(ctx, o.pause)
		default:
			sleep(ctx, jitter(backoff(firstPushBackoff, failures, maxPushBackoff)))
		}
	}
}

// waitForChange waits until there is something to push and says no when ctx has ended.
func (p *pusher) waitForChange(ctx context.Context, failures int) bool {
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
		if p.pool.generation() != nil {
			return true
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// push sends one message and interprets the answer.
func (p *pusher) push(ctx context.Context, now time.Time) outcome {
	g := p.pool.generation()
	p.position.Sequence++
	body, err := p.encoder.message(g, p.position, p.topology != g.id, now)
	if err != nil {
		return outcome{result: "unencodable", err: err, pause: refusedPause}
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.ingest.URL, bytes.NewReader(body))
	if err != nil {
		return outcome{result: "error", err: err}
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Authorization", "Bearer "+p.token.get())
	request.Header.Set("User-Agent", "pintle-sidecar")
	response, err := p.client.Do(request)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return outcome{result: "timeout", err: err}
		}
		return outcome{result: "error", err: err}
	}
	defer response.Body.Close()
	p.metrics.pushBytes.WithLabelValues(p.ingest.Name).Add(float64(len(body)))
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err == nil && response.StatusCode == http.StatusNoContent {
		p.topology = g.id
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

func (p *pusher) refused(response *http.Response, answer []byte) outcome {
	var body answerBody
	_ = json.Unmarshal(answer, &body) // what is no JSON has no code
	o := outcome{
		result: fmt.Sprintf("status_%d", response.StatusCode),
		err:    fmt.Errorf("the ingest listener answered %s: %s %s", response.Status, body.Error.Code, oneLine(body.Error.Message)),
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
func (p *pusher) record(o outcome, took time.Duration) {
	p.metrics.pushes.WithLabelValues(p.ingest.Name, o.result).Inc()
	p.metrics.pushSeconds.WithLabelValues(p.ingest.Name).Observe(took.Seconds())
	p.mu.Lock()
	changed := p.result != o.result
	p.result, p.failure = o.result, ""
	if o.err == nil {
		p.accepted, p.acknowledged, p.holds = time.Now(), p.position, p.topology
	} else {
		p.failure = oneLine(o.err.Error())
	}
	p.mu.Unlock()
	switch {
	case o.err != nil && changed:
		p.log.Warn("push failed", "target", p.ingest.Name, "result", o.result, "error", oneLine(o.err.Error()))
	case o.err == nil && changed:
		p.log.Info("push accepted", "target", p.ingest.Name, "epoch", p.position.Epoch)
	default:
		p.log.Debug("pushed", "target", p.ingest.Name, "result", o.result, "took", took)
	}
}

// health says why the Envoy has not heard the sidecar lately; empty when it has.
func (p *pusher) health(now time.Time, within time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.accepted.IsZero() && now.Sub(p.accepted) <= within {
		return ""
	}
	last := "never"
	if !p.accepted.IsZero() {
		last = now.Sub(p.accepted).Round(time.Millisecond).String() + " ago"
	}
	reason := fmt.Sprintf("envoy.ingest %s: last accepted push: %s", p.ingest.Name, last)
	if p.failure != "" {
		reason += "; last failure: " + p.failure
	}
	return reason
}
