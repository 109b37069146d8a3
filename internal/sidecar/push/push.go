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
	// firstPushTimeout is how long a push may take, twice as long after each that took too long, up to pushTimeout. One
	// of an Envoy's workers may stand still, and the others are not to wait for it until their samples are stale.
	firstPushTimeout = 500 * time.Millisecond
	pushTimeout      = 2 * time.Second
	firstPushBackoff = 50 * time.Millisecond
	maxPushBackoff   = time.Second
	// connectBackoff is the longest wait for a listener that is not there: an Envoy that starts answers 503 until it
	// has a snapshot.
	connectBackoff = 100 * time.Millisecond
	// refusedPause is the wait after an answer that a retry alone does not change, such as that of another listener.
	refusedPause = 2 * time.Second
	// tokenPause is that after a wrong token, which may be about to change at one of the two ends: with it Envoy's last
	// snapshot is still in use.
	tokenPause     = 500 * time.Millisecond
	maxAnswerBytes = 64 << 10
)

// headerWants is where an Envoy that takes a snapshot says what else it goes by, headerVersion where one that has seen
// the token says which module it runs.
const (
	headerWants   = "X-Pintle-Wants"
	wantsModels   = "models"
	headerVersion = "X-Pintle-Version"
)

// mostVersionBytes is how much of a module's version is shown.
const mostVersionBytes = 64

// The results that are told apart from others: there is no listener, and somebody else's snapshot is newer.
const (
	connectFailed = "connect"
	older         = "older"
)

// Pusher feeds one Envoy, alone, so that no other Envoy and no scraper waits for it.
type Pusher struct {
	Ingest   config.Ingest
	Interval time.Duration
	Token    *Token
	Pool     *pool.Pool
	Log      *slog.Logger
	Metrics  *metrics.Metrics
	// WantsModels is called whenever the Envoy says that it goes by the models that endpoints serve.
	WantsModels func()
	// GPUAttribute is what snapshots call the use of endpoints' GPUs, empty where that is not read.
	GPUAttribute string

	wake     <-chan struct{}
	sampled  <-chan time.Time
	client   *http.Client
	encoder  encoder
	position snapshot.Position
	// topology is the one that the Envoy holds as far as it is known; 0 sends a full message.
	topology uint64
	// connected is when the connection in use was made, zero for none.
	connected time.Time
	// timeouts are the pushes on end that took too long.
	timeouts int
	rivals   rivals
	// steadiness is of what the log has said.
	steadiness steadiness

	mu    sync.Mutex
	state State
}

// outcome is what became of a push.
type outcome struct {
	result string // by which it is counted
	err    error
	// pause is the shortest wait before the next push, 0 for the usual back-off.
	pause time.Duration
	// again asks for a full message at once.
	again bool
	// filter is the version that the module says it has, empty where it says none.
	filter string
}

// push sends one message and interprets the answer.
func (p *Pusher) push(ctx context.Context, now time.Time) outcome {
	g := p.Pool.Generation()
	p.position.Sequence++
	p.reconnect(now)
	p.encoder.gpu = p.GPUAttribute
	body, err := p.encoder.message(g, p.position, p.topology != g.ID, now)
	if err != nil {
		return outcome{result: "unencodable", err: err, pause: refusedPause}
	}
	ctx, cancel := context.WithTimeout(ctx, pace.Backoff(firstPushTimeout, p.timeouts+1, pushTimeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Ingest.URL, bytes.NewReader(body))
	if err != nil {
		return outcome{result: "error", err: err}
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Authorization", "Bearer "+p.Token.Get())
	request.Header.Set("User-Agent", "pintle-sidecar")
	response, err := p.client.Do(request)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			p.timeouts++
			return outcome{result: "timeout", err: err}
		}
		if failure := (*net.OpError)(nil); errors.As(err, &failure) && failure.Op == "dial" {
			return outcome{result: connectFailed, err: err}
		}
		return outcome{result: "error", err: err}
	}
	defer response.Body.Close()
	p.timeouts = 0
	p.Metrics.PushedBytes(p.Ingest.Name, len(body))
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	filter := response.Header.Get(headerVersion)
	filter = filter[:min(len(filter), mostVersionBytes)]
	if err == nil && response.StatusCode == http.StatusNoContent {
		p.topology = g.ID
		if response.Header.Get(headerWants) == wantsModels {
			p.WantsModels()
		}
		return outcome{result: "accepted", filter: filter}
	}
	o := p.refused(response, answer)
	o.filter = filter
	return o
}

// reconnect has the next push connect anew once in a heartbeat. While an Envoy is restarted hot both processes listen
// for a moment, and a connection that is kept would go on reaching the old one, while the new one knows no endpoint.
func (p *Pusher) reconnect(now time.Time) {
	if now.Sub(p.connected) < heartbeat {
		return
	}
	p.client.CloseIdleConnections()
	p.connected = now
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
		err: fmt.Errorf("the ingest listener answered %s: %s %s", response.Status, body.Error.Code,
			pool.OneLine(body.Error.Message)),
	}
	switch {
	case response.StatusCode == http.StatusConflict && body.Error.Code == "older":
		p.outranked(body.Current.Epoch)
		o.result, o.again = older, true
	case response.StatusCode == http.StatusConflict && body.Error.Code == "unknown_topology":
		o.result, o.again = "unknown_topology", true
	case response.StatusCode == http.StatusUnauthorized:
		o.pause = tokenPause
	// Where it takes the snapshot for a request, the route answers, or the filter itself as long as it knows no server.
	case response.StatusCode == http.StatusNotFound || body.Error.Code == "no_endpoints":
		o.err = fmt.Errorf("the ingest listener answered %s: it lacks the plug-in with this port or socket as its "+
			"ingest, or, with hold: buffer, "+
			"the buffer filter behind it", response.Status)
		o.pause = refusedPause
	case response.StatusCode == http.StatusBadRequest && body.Error.Code == snapshot.ErrVersion.Error():
		o.err = fmt.Errorf("the ingest listener answered %s: %s: its filter reads no snapshots of version %d; upgrade "+
			"the filter, or go back to a sidecar of the filter's release", response.Status, body.Error.Code,
			snapshot.FormatVersion)
		o.pause = refusedPause
	case response.StatusCode >= 500 || response.StatusCode == http.StatusConflict:
	default:
		o.pause = refusedPause
	}
	return o
}
