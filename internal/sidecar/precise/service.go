// Package precise answers the filter, while a request waits, which model servers have the beginning of its prompt.
package precise

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

// Path is where the filter asks.
const Path = "/pintle/v1/prefix"

const (
	// mostBody bounds the requests that are looked at.
	mostBody = 16 << 20
	// mostAsked bounds the bytes of all requests that are looked at at the same time: what is made of one takes several
	// times as many.
	mostAsked = 32 << 20
)

// Service answers the filter.
type Service struct {
	// Index is the configuration's, Tokens makes tokens, Blocks knows who holds what.
	Index  *scoring.PreciseIndex
	Tokens *tokens.Pool
	Blocks *kvindex.Indexer
	// Endpoints returns the names of the servers that there are.
	Endpoints func() []string
	// Token returns what the filter must carry.
	Token func() string
	Log   *slog.Logger

	// Background is handed prompts; nil where requests wait.
	Background *Background

	metrics *Metrics
	routed  routed
	asked   room
}

// Start makes the service ready.
func (s *Service) Start() {
	s.metrics = newMetrics()
	s.asked.left = mostAsked
}

// Collectors are the metrics of the service and of its tokens.
func (s *Service) Collectors() []prometheus.Collector {
	return append(s.Tokens.Collectors(), s.metrics.all()...)
}

// ServeHTTP implements http.Handler: the body is a request of a client, x-pintle-api says of which API. The answer is
// 200 with scoring.PreciseMatches, 204 when nothing sure can be said of the prompt, and 503 when that fails.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(given), []byte(s.Token())) != 1 {
		http.Error(w, "the token is wrong", http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "POST is right", http.StatusMethodNotAllowed)
		return
	}
	began := time.Now()
	// Envoy says how long they are.
	size := int(max(min(r.ContentLength, mostBody), 0))
	if !s.asked.take(size) {
		s.metrics.lookups.WithLabelValues("busy").Inc()
		http.Error(w, "too much is asked at the same time", http.StatusServiceUnavailable)
		return
	}
	defer s.asked.give(size)
	// They are not to be copied as they grow.
	read := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := read.ReadFrom(http.MaxBytesReader(w, r.Body, mostBody))
	body := read.Bytes()
	if err != nil {
		s.metrics.lookups.WithLabelValues("unreadable").Inc()
		http.Error(w, "the request cannot be read", http.StatusBadRequest)
		return
	}
	if r.URL.Path == RoutedPath {
		s.takeRouted(r.Context(), body)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.URL.Path == PromptsPath {
		s.Background.Take(body)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answer, err := s.answer(r.Context(), r.Header.Get("X-Pintle-Api"), body)
	s.metrics.seconds.Observe(time.Since(began).Seconds())
	s.reply(w, r, answer, err)
}

// reply answers a request with what was found, or says why there is nothing.
func (s *Service) reply(w http.ResponseWriter, r *http.Request, answer []byte, err error) {
	var none tokens.ErrNone
	switch {
	case err == nil:
		s.metrics.lookups.WithLabelValues("answered").Inc()
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(answer)
	case errors.As(err, &none):
		s.metrics.lookups.WithLabelValues("none").Inc()
		s.metrics.none.WithLabelValues(none.Error()).Inc()
		w.WriteHeader(http.StatusNoContent)
	case r.Context().Err() != nil:
		s.metrics.lookups.WithLabelValues("late").Inc()
	default:
		s.metrics.lookups.WithLabelValues("failed").Inc()
		s.Log.Debug("no tokens of a prompt", "error", err)
		http.Error(w, "the prompt's tokens cannot be had", http.StatusServiceUnavailable)
	}
}

// answer looks up which servers have the beginning of a request's prompt.
func (s *Service) answer(ctx context.Context, api string, body []byte) ([]byte, error) {
	prompt, err := tokens.Read(api, body)
	if err != nil {
		return nil, err
	}
	encoded, err := s.Tokens.Tokens(ctx, prompt)
	if err != nil {
		return nil, err
	}
	keyed := kvindex.Prompt{Tokens: encoded.Tokens, Salt: prompt.Salt}
	for _, m := range encoded.Media {
		keyed.Media = append(keyed.Media, kvindex.Media(m))
	}
	hits, err := s.Blocks.Match(ctx, nil, prompt.Model, &keyed, s.Endpoints())
	if err != nil {
		return nil, err
	}
	m := scoring.PreciseMatches{Tokens: len(encoded.Tokens), Blocks: len(encoded.Tokens) / s.Index.BlockTokens,
		BlockTokens: s.Index.BlockTokens}
	best := 0
	for _, h := range hits {
		m.Holders = append(m.Holders, scoring.PreciseHolder{ID: journal.HashName(h.Endpoint), Blocks: h.Blocks,
			Tokens: h.Tokens, Score: h.Score})
		best = max(best, h.Tokens)
	}
	s.metrics.tokens.Add(float64(m.Tokens))
	s.metrics.found.Add(float64(best))
	if s.Index.Speculative {
		m.Lookup = s.routed.keep(prompt.Model, &keyed)
	}
	return m.AppendTo(nil), nil
}
