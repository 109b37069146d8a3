package sim

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// generation is one request on its way through the server.
type generation struct {
	sequence *sequence
	format   format
	text     []byte
}

func (s *Server) newGeneration(r *http.Request, q *request) *generation {
	seed := xxhash.Sum64(q.prompt) ^ xxhash.Sum64String(q.model) ^ mix(s.config.Seed)
	all := prompt(appendText(slices.Grow(q.prompt, q.outputTokens*tokenBytes), seed, q.outputTokens))
	g := &generation{text: all[len(q.prompt):]}
	g.sequence = newSequence(q.prompt.tokens(), q.outputTokens, all.blockHashes(s.config.BlockTokens, q.salt))
	g.sequence.adapter, g.sequence.finishReason = q.adapter, q.finishReason
	g.sequence.hold.told = &told{all, q.adapter, strings.TrimPrefix(q.salt, q.adapter+"\x00")}
	id := r.Header.Get("X-Request-Id")
	if id == "" {
		id = s.nextID()
	}
	g.format = newFormat(q, id, time.Now().Unix())
	return g
}

func (g *generation) usage(completion int) usage {
	return usage{prompt: g.sequence.promptTokens, completion: completion, cached: g.sequence.cachedTokens}
}

// generate answers a request that has been understood. Whatever ends it early frees what it holds.
func (s *Server) generate(w http.ResponseWriter, r *http.Request, q *request) {
	if s.isClosed() {
		closedError().write(w)
		return
	}
	rank, failure := s.rankOf(r)
	if failure != nil {
		failure.write(w)
		return
	}
	g := s.newGeneration(r, q)
	g.sequence.rank = rank
	switch {
	case q.api == apiEmbeddings:
		if s.finish(w, s.engine.run(r.Context(), g.sequence, 1, nil)) {
			writeJSON(w, http.StatusOK, embeddings(q, g.usage(0)))
		}
	case q.stream:
		if err := s.stream(w, r, g); errors.Is(err, errClosed) {
			panic(http.ErrAbortHandler)
		}
	default:
		err := s.engine.run(r.Context(), g.sequence, s.config.BlockTokens, func(int) error { return nil })
		if !s.finish(w, err) {
			return
		}
		b := g.format.whole(nil, g.text, g.usage(q.outputTokens))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		_, _ = w.Write(b)
	}
}

// finish reports whether there is something to answer.
func (s *Server) finish(w http.ResponseWriter, err error) bool {
	if errors.Is(err, errClosed) {
		closedError().write(w)
	}
	return err == nil
}

func closedError() *apiError {
	return &apiError{http.StatusServiceUnavailable, "server is shutting down", "ServiceUnavailableError", ""}
}

func (s *Server) isClosed() bool {
	select {
	case <-s.engine.closed:
		return true
	default:
		return false
	}
}

// stream sends its headers at once, as vLLM does, and then server-sent events. So it is the first event, not the first
// byte, that tells the time to first token.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, g *generation) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flusher := http.NewResponseController(w)
	if err := flusher.Flush(); err != nil {
		return err
	}
	var b []byte
	send := func() error {
		if len(b) == 0 {
			return nil
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		return flusher.Flush()
	}
	sent := 0
	err := s.engine.run(r.Context(), g.sequence, s.config.StreamInterval, func(tokens int) error {
		b = b[:0]
		if sent == 0 {
			b = g.format.opening(b, g.usage(0))
		}
		b = g.format.token(b, g.text[sent*tokenBytes:tokens*tokenBytes], sent == 0)
		sent = tokens
		return send()
	})
	if err != nil {
		return err
	}
	b = g.format.closing(b[:0], g.text, g.usage(g.sequence.outputTokens))
	return send()
}
