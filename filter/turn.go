package main

import (
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// turn is what is kept of a request for /v1/responses until the store has it: its input, and then its response.
type turn struct {
	kept
	previous string
	tenant   [][2]string
	input    int
	final    openai.Final
	// due and until are when it is handed over next, and for how long that is tried, nanoseconds since 1970. asked is
	// set while the sidecar is asked.
	due, until int64
	asked      bool
}

const (
	// handOverMillis is when a finished response is handed to the sidecar.
	handOverMillis = 1
	// handOverFor is how long that is tried, retryAfter the time between two tries, lateMargin how much longer an
	// unknown response may be one of those.
	handOverFor = 30 * time.Second
	retryAfter  = time.Second / 2
	lateMargin  = 2 * time.Second
	// mostUnstored bounds the responses that a worker has to hand over.
	mostUnstored = 4096
)

// keepTurn begins to keep what the store needs of the request.
func (s *stream) keepTurn(store *scoring.ResponsesStore, scanned *openai.Turn, body []byte) {
	t := &turn{previous: scanned.Previous, tenant: s.tenant(store)}
	t.worker, t.most = s.worker, store.Backend.MaxEntryBytes()
	t.Keep(body[scanned.Input.Start:scanned.Input.End])
	t.input = t.size
	s.turn = t
}

// dropTurn forgets what was kept.
func (s *stream) dropTurn() {
	if s.turn != nil {
		s.turn.free()
		s.turn = nil
	}
}

// beginTurn looks at the headers of the response: only what a server has answered, as it is, can be stored.
func (s *stream) beginTurn() {
	if s.turn == nil {
		return
	}
	coding, _ := hostcalls.ResponseHeader(&s.property, "content-encoding")
	if s.responseStatus() != 200 || openai.Encodes(coding) {
		s.dropTurn()
	}
}

// collect reads a frame of the response. The client gets it at once.
func (s *stream) collect(frameBytes int, end bool) {
	t := s.turn
	if t == nil {
		return
	}
	if frame, err := hostcalls.ResponseBody(&s.body, 0, frameBytes); err == nil {
		t.final.Feed(frame, t)
	} else {
		t.over = true
	}
	if t.over {
		s.stats.turnsLost.Add(1)
		s.dropTurn()
		return
	}
	if t.final.Done() || end && t.final.JSON() {
		s.finishTurn()
	}
}

// finishTurn has the turn handed to the sidecar, off the request's way: from a tick, as a call of the stream's own
// would end with it.
func (s *stream) finishTurn() {
	t, p := s.turn, s.plugin
	s.turn = nil
	if len(p.unstored) >= mostUnstored {
		s.stats.turnsLost.Add(1)
		t.free()
		return
	}
	t.until = hostcalls.Now() + int64(handOverFor)
	p.unstored = append(p.unstored, t)
	if !p.handsOver {
		p.handsOver = true
		s.check(hostcalls.SetTick(handOverMillis))
	}
}

// handOver gives the sidecar the turns that are due. To be called in a tick.
func (p *plugin) handOver() {
	if p.handsOver {
		p.handsOver = false
		if len(p.waiting) == 0 {
			p.slowDown()
		}
	}
	now := hostcalls.Now()
	for i := 0; i < len(p.unstored); i++ {
		if t := p.unstored[i]; !t.asked && !lasts(t.due, now, int64(retryAfter)) && !p.tell(t) {
			i--
		}
	}
}

// tell gives the sidecar one turn; false when it is no longer among the unstored.
func (p *plugin) tell(t *turn) bool {
	p.patch = t.appendTo(p.patch[:0])
	headers := append([][2]string{{"x-pintle-input", strconv.Itoa(t.input)}}, t.tenant...)
	if t.previous != "" {
		headers = append(headers, [2]string{"x-pintle-previous", t.previous})
	}
	t.asked = true
	err := hostcalls.Send(&p.reply, p.sidecarCall("POST", turnsPath, p.patch, headers...), func(a hostcalls.Answer) {
		t.asked = false
		p.heard(t, a.Status)
	})
	if err != nil {
		t.asked = false
		return p.heard(t, 0)
	}
	return true
}

// heard takes what the sidecar has said of a turn: it has it, does not want it, or is to be asked again. It returns
// whether the turn is still among the unstored.
func (p *plugin) heard(t *turn, status int) bool {
	now := hostcalls.Now()
	switch {
	case status >= 200 && status < 300:
		p.stats.turnsStored.Add(1)
	case status == 413 || status == 409 || status == 400 || now >= t.until:
		p.stats.turnsLost.Add(1)
	default:
		t.due = now + int64(retryAfter)
		p.markLate(t.until + int64(lateMargin))
		return true
	}
	t.free()
	for i, other := range p.unstored {
		if other == t {
			p.unstored = append(p.unstored[:i], p.unstored[i+1:]...)
			break
		}
	}
	return false
}
