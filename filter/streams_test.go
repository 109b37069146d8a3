package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// play is one exchange of TestManyStreams: what is sent, what must come of it, and how far it is.
type play struct {
	*wazerohost.Stream
	frames  []string
	trailer bool
	session int
	abort   int // steps until the client goes away, -1 for never

	server string // where it must go; "" with a reason
	body   string // what must arrive there
	reason string
}

// TestManyStreams plays many exchanges at once on one worker, in random frames and any order, clients leaving at any
// point. A model of the filter says what must come of each; streams are used again, so anything that one leaves behind
// shows in another.
func TestManyStreams(t *testing.T) {
	for i, m := range modes {
		t.Run(m.String(), func(t *testing.T) {
			g := newGateway(t, m, 1, m.configuration(sticky, ""))
			g.publish(newPool(3, 0, 6, 9, 12))
			random := rand.New(rand.NewPCG(uint64(i), 7))
			var open []*play
			completed := 0
			for step := range 12_000 {
				if len(open) < 24 && step < 11_000 {
					open = append(open, g.newPlay(random))
				}
				if len(open) == 0 {
					break
				}
				n := random.IntN(len(open))
				if p := open[n]; !p.step(random) {
					if g.judge(p) {
						completed++
					}
					open[n] = open[len(open)-1]
					open = open[:len(open)-1]
				}
				if t.Failed() {
					t.Fatalf("step %d", step)
				}
			}
			for _, p := range open {
				p.Abort()
			}
			if completed < 500 {
				t.Errorf("exchanges that came to their end: got %d, want at least 500", completed)
			}
		})
	}
}

// newPlay starts a random exchange.
func (g *gateway) newPlay(random *rand.Rand) *play {
	p := &play{abort: -1, session: random.IntN(6) - 1}
	if random.IntN(4) == 0 {
		p.abort = random.IntN(8)
	}
	model := fmt.Sprintf("model-%d", random.IntN(1000))
	body := map[string]any{"model": model, "prompt": strings.Repeat("é\"\\", random.IntN(300))}
	headers := wazerohost.Headers{{":path", "/v1/completions"}}
	p.server = address(1)
	if p.session >= 0 {
		headers = append(headers, [2]string{"x-session-token", sessionToken(p.session)})
		p.server = address(p.session)
	}
	rewritten := ""
	switch random.IntN(8) {
	case 0:
		delete(body, "model")
		p.server, p.reason = "", "model_missing"
	case 1, 2:
		rewritten = fmt.Sprintf("rewritten-%0*d", random.IntN(40), random.IntN(99))
		headers = append(headers, [2]string{"x-gateway-model-name-rewrite", rewritten})
	}
	text, _ := json.Marshal(body)
	p.body = string(text)
	if rewritten != "" && p.reason == "" {
		p.body = strings.Replace(p.body, model, rewritten, 1)
	}
	if random.IntN(10) == 0 && p.reason == "" {
		text = text[:len(text)-1]
		p.server, p.reason = "", "invalid_body"
	}
	if random.IntN(2) == 0 {
		headers = append(headers, [2]string{"content-length", fmt.Sprint(len(text))})
	}
	p.frames, p.trailer = split(string(text), random), random.IntN(4) == 0
	p.Stream = g.workers[0].requests.Request(headers, false)
	return p
}

// split cuts text into random frames, empty ones among them.
func split(text string, random *rand.Rand) []string {
	var frames []string
	for len(text) > 0 {
		n := min(random.IntN(1+len(text)), len(text))
		if random.IntN(3) == 0 {
			n = min(n, 1)
		}
		frames, text = append(frames, text[:n]), text[n:]
	}
	if random.IntN(3) == 0 {
		frames = append(frames, "")
	}
	return frames
}

// step plays the next move; more is false when there is none.
func (p *play) step(random *rand.Rand) (more bool) {
	if p.Ended() {
		return false
	}
	if p.abort == 0 {
		p.Abort()
		return false
	}
	p.abort--
	switch {
	case len(p.frames) > 0:
		last := len(p.frames) == 1 && !p.trailer
		p.Body([]byte(p.frames[0]), last)
		p.frames = p.frames[1:]
	case p.trailer:
		p.trailer = false
		p.Trailers(wazerohost.Headers{{"t", "1"}})
	case p.ResponseHeaders() == nil:
		if p.server == "" {
			return false
		}
		p.SetServer(p.server)
		p.Respond(nil, random.IntN(4) == 0)
	default:
		p.RespondBody([]byte("data: x\n\n"), random.IntN(3) == 0)
	}
	return true
}

// judge compares an exchange that is over with what the model says. It reports whether it was played to its end.
func (g *gateway) judge(p *play) bool {
	g.t.Helper()
	if p.WasReset() && !p.Sent() {
		return false
	}
	if p.reason != "" {
		wantError(g.t, p.Stream, 400, p.reason)
		return true
	}
	if first, _, _ := strings.Cut(g.ranked(p.Stream), ","); first != p.server {
		g.t.Errorf("endpoint: got %q, want %q (%v)", first, p.server, p.Stream)
	}
	if got := string(p.UpstreamBody()); got != p.body {
		g.t.Errorf("body upstream:\n got %q\nwant %q", got, p.body)
	}
	if p.WasReset() {
		return false
	}
	session := 1
	if p.session >= 0 {
		session = p.session
	}
	if got := p.ResponseHeaders().Get("x-session-token"); got != sessionToken(session) {
		g.t.Errorf("x-session-token: got %q, want %q", got, sessionToken(session))
	}
	return true
}
