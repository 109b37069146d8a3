package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// The control surface, for tests:
//
//	POST   /sim/metrics  {"waiting":n,"running":n,"kv":f,"start":f,"promptTokens":n}  what /metrics shows instead of the truth; null or absent unpins
//	POST   /sim/fail     {"mode":...,"target":...,"count":n,"delayMillis":n}  see failure
//	GET    /sim/requests the last 100 requests, see Received; DELETE forgets them and the count
//	GET    /sim/count    {"count":n}
//	GET    /sim/state    the real load, whatever /metrics shows
//	POST   /sim/lookup   a chat or completion  {"blocks":n,"ranks":[{"blocks":n,"offloadedBlocks":n}]}  how many of its prompt's full blocks are in the cache, at the rank that has most and at each
//	POST   /sim/events   {"fault":...,"count":n}  see eventFault
//	GET    /sim/events   {"published":n,"subscribers":n}  batches of KV events, and who listens, of all ranks
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "POST /sim/metrics":
		var p pins
		if decode(w, r, &p) {
			s.pinned.Store(&p)
			w.WriteHeader(http.StatusNoContent)
		}
	case "POST /sim/fail":
		s.setFailure(w, r)
	case "GET /sim/requests":
		writeJSON(w, http.StatusOK, s.log.list())
	case "DELETE /sim/requests":
		s.log.reset()
		w.WriteHeader(http.StatusNoContent)
	case "GET /sim/count":
		writeJSON(w, http.StatusOK, map[string]uint64{"count": s.Count()})
	case "GET /sim/state":
		writeJSON(w, http.StatusOK, s.engine.load())
	case "POST /sim/lookup":
		s.lookup(w, r)
	case "POST /sim/events":
		s.setEventFault(w, r)
	case "GET /sim/events":
		s.showEvents(w)
	default:
		(&apiError{http.StatusNotFound, fmt.Sprintf("no such control: %s %s", r.Method, r.URL.Path), "NotFoundError",
			""}).write(w)
	}
}

// decode reads a small JSON object strictly. When it cannot, it has answered.
func decode(w http.ResponseWriter, r *http.Request, v any) bool {
	d := json.NewDecoder(io.LimitReader(r.Body, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		badRequest("", err.Error()).write(w)
		return false
	}
	return true
}

// target is which requests a failure strikes.
type target string

const (
	targetAPI    target = "api"
	targetProbes target = "probes"
	targetAll    target = "all"
)

// failure is how a server misbehaves. Mode is
//
//	none          not at all
//	500           answers with an error 500
//	full          answers with an error 503
//	reset         resets the connection (HTTP/2: the stream) instead of answering
//	hang          never answers
//	slow-headers  answers as usual after DelayMillis (2000 by default)
//	cut           drops the connection after the first token of a stream, or after half of another answer of the API
//
// Target is api (the default), probes (/metrics, /health, /v1/models) or all. Count above 0 ends the failure after so
// many requests.
type failure struct {
	Mode        string `json:"mode"`
	Target      target `json:"target"`
	Count       int64  `json:"count"`
	DelayMillis int64  `json:"delayMillis"`
	struck      atomic.Int64
}

var failureModes = []string{"none", "500", "full", "reset", "hang", "slow-headers", "cut"}

func (s *Server) setFailure(w http.ResponseWriter, r *http.Request) {
	f := failure{Target: targetAPI, DelayMillis: 2000}
	if !decode(w, r, &f) {
		return
	}
	switch {
	case !slices.Contains(failureModes, f.Mode):
		badRequest("mode", fmt.Sprintf("mode %q: want one of %s", f.Mode, strings.Join(failureModes, ", "))).write(w)
		return
	case f.Target != targetAPI && f.Target != targetProbes && f.Target != targetAll:
		badRequest("target", fmt.Sprintf("target %q: want api, probes or all", f.Target)).write(w)
		return
	case f.Mode == "cut" && f.Target == targetProbes:
		badRequest("target", `target "probes": want api for mode "cut", as probes are not cut`).write(w)
		return
	}
	if f.Mode == "none" {
		s.failure.Store(nil)
	} else {
		s.failure.Store(&f)
	}
	w.WriteHeader(http.StatusNoContent)
}

// fail misbehaves if it is told to. It reports whether the request is done with.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, t target) bool {
	f := s.failure.Load()
	if f == nil || f.Mode == "cut" || !f.strikes(t) {
		return false
	}
	switch f.Mode {
	case "500":
		(&apiError{http.StatusInternalServerError, "failure on request", "InternalServerError", ""}).write(w)
	case "full":
		(&apiError{http.StatusServiceUnavailable, "the server is full", "ServiceUnavailableError", ""}).write(w)
	case "reset":
		reset(w)
	case "hang":
		s.pause(r.Context(), 1<<62)
	case "slow-headers":
		return !s.pause(r.Context(), time.Duration(f.DelayMillis)*time.Millisecond)
	}
	return true
}

// strikes counts a request and reports whether the failure meets it.
func (f *failure) strikes(t target) bool {
	if f.Target != t && f.Target != targetAll {
		return false
	}
	return f.Count <= 0 || f.struck.Add(1) <= f.Count
}

// cut wraps w if its answer is to be cut short.
func (s *Server) cut(w http.ResponseWriter) http.ResponseWriter {
	if f := s.failure.Load(); f != nil && f.Mode == "cut" && f.strikes(targetAPI) {
		return cutWriter{w}
	}
	return w
}

type cutWriter struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController.
func (c cutWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Write implements http.ResponseWriter.
func (c cutWriter) Write(b []byte) (int, error) {
	if c.Header().Get("Content-Type") == "application/json" {
		b = b[:len(b)/2]
	}
	_, _ = c.ResponseWriter.Write(b)
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// pause reports whether the whole time has passed.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.engine.closed:
	}
	return false
}

// reset drops the connection with a TCP reset. Where there is no connection to take it ends the stream.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
