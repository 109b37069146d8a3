package responses

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/scoring"
)

// Service answers the filter.
type Service struct {
	backend Backend
	tier    string
	most    int
	metrics *Metrics
	log     *slog.Logger
	token   func() string
	mux     http.ServeMux
	// grace is missGrace.
	grace time.Duration
	// given are conversations with turns that may not be finished.
	given recent
	// outage is whether the backend fails.
	outage outage
}

// New opens a store. token returns the token that the filter must carry.
func New(config scoring.StoreBackend, token func() string, log *slog.Logger) (*Service, error) {
	s := &Service{most: config.MaxEntryBytes(), metrics: newMetrics(), log: log, token: token,
		grace: missGrace}
	if err := s.open(config); err != nil {
		return nil, err
	}
	s.mux.HandleFunc("GET /pintle/v1/history/{id}", s.history)
	s.mux.HandleFunc("POST /pintle/v1/turns", s.turn)
	s.mux.HandleFunc("GET /pintle/v1/responses/{id}", s.response)
	s.mux.HandleFunc("DELETE /pintle/v1/responses/{id}", s.remove)
	s.mux.HandleFunc("GET /pintle/v1/responses/{id}/input_items", s.inputItems)
	return s, nil
}

// open opens the backend.
func (s *Service) open(config scoring.StoreBackend) error {
	if config.Tiered == nil {
		m, err := newMemory(config.Memory, s.metrics, s.log)
		if err != nil {
			return err
		}
		s.backend, s.metrics.size, s.tier = m, m.size, "memory"
		return nil
	}
	s.tier = "redis"
	if config.Tiered.Mongo == nil {
		r, err := newRemote(config.Tiered.Redis, s.metrics)
		s.backend = r
		return err
	}
	second, err := newMongo(config.Tiered.Mongo, s.metrics, s.log)
	if err != nil {
		return err
	}
	s.backend, err = newTiered(*config.Tiered, second, s.metrics, s.log)
	return err
}

// Collector are the store's metrics.
func (s *Service) Collector() prometheus.Collector { return s.metrics }

// Trouble is what is wrong with the store, empty for nothing.
func (s *Service) Trouble() string {
	if trouble := s.outage.trouble(time.Now()); trouble != "" {
		return trouble
	}
	return s.backend.Trouble()
}

// Run does what is to be done beside answering, until ctx ends, and closes the store.
func (s *Service) Run(ctx context.Context) {
	s.backend.Run(ctx)
	if err := s.backend.Close(); err != nil {
		s.log.Error("the store of responses did not close well", "error", err)
	}
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(given), []byte(s.token())) != 1 {
		http.Error(w, "the token is wrong", http.StatusUnauthorized)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// tenantHeader says whose an entry is.
const tenantHeader = "X-Pintle-Tenant"

// A client may be quicker with its next turn than the filter with handing over the last one: an entry that is unknown
// is looked for again for as long as missGrace.
const (
	missGrace = 150 * time.Millisecond
	missPause = 10 * time.Millisecond
)

// find looks for the entry that a request is about.
func (s *Service) find(r *http.Request) (*Entry, error) {
	began := time.Now()
	key := keyOf(r.Header.Get(tenantHeader), r.PathValue("id"))
	e, err := s.backend.Get(r.Context(), key)
	if (errors.Is(err, ErrUnknown) || errors.Is(err, errSecond)) && time.Since(began) > s.grace {
		// It may have come while the second tier was asked for it.
		if late, lateErr := s.backend.Again(r.Context(), key); lateErr == nil {
			e, err = late, nil
		}
	}
	for pause := missPause; errors.Is(err, ErrUnknown) && time.Since(began) <= s.grace; pause *= 2 {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(pause):
		}
		e, err = s.backend.Again(r.Context(), key)
	}
	s.metrics.looked(r.Context(), s.tier, e, err)
	if err == nil || errors.Is(err, ErrUnknown) {
		s.worked()
	}
	return e, err
}

// worked takes it that the backend did what it was asked.
func (s *Service) worked() {
	if failures := s.outage.succeeded(time.Now()); failures > 0 {
		s.log.Info("the store of responses works again", "failures", failures, "for", steadyAfter)
	}
}

// fail answers that an entry is unknown, or that nobody knows.
func (s *Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, ErrUnknown) {
		http.Error(w, "no such response", http.StatusNotFound)
		return
	}
	if r.Context().Err() == nil && s.outage.failed(err.Error(), time.Now()) {
		s.log.Warn("the store of responses fails", "error", err)
	}
	http.Error(w, "the store fails", http.StatusServiceUnavailable)
}

func (s *Service) history(w http.ResponseWriter, r *http.Request) {
	e, err := s.find(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	items := e.Items()
	s.given.add(e.Key(), items)
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(items)
}

func (s *Service) response(w http.ResponseWriter, r *http.Request) {
	e, err := s.find(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, e.Response)
}

func (s *Service) remove(w http.ResponseWriter, r *http.Request) {
	e, err := s.find(r)
	if err == nil {
		began := time.Now()
		err = s.backend.Delete(r.Context(), e.Key())
		s.metrics.took(s.tier, "delete", began)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, []byte(`{"id":"`+e.ID+`","object":"response","deleted":true}`))
}

// turn stores a finished response: the body is the request's input, as long as x-pintle-input says, and then the
// response. It answers 204, or why the turn is not stored: 400 it is none, 409 its predecessor is gone, 413 it is too
// large; with 503 it may be told again.
func (s *Service) turn(w http.ResponseWriter, r *http.Request) {
	// What came before counts, too, but only what comes over the wire can be too much to read.
	most := int64(s.most) + 1<<20
	var read bytes.Buffer
	read.Grow(int(min(max(r.ContentLength, 0), most)) + bytes.MinRead)
	_, err := read.ReadFrom(http.MaxBytesReader(w, r.Body, most))
	body := read.Bytes()
	size, sizeErr := strconv.Atoi(r.Header.Get("X-Pintle-Input"))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		s.refuseTurn(w, http.StatusRequestEntityTooLarge, "oversized")
		return
	case err != nil || sizeErr != nil || size < 0 || size > len(body):
		s.refuseTurn(w, http.StatusBadRequest, "malformed")
		return
	}
	e, err := newEntry(body[:size], body[size:], r.Header.Get("X-Pintle-Previous"))
	if err != nil {
		s.refuseTurn(w, http.StatusBadRequest, "unfinished")
		return
	}
	e.Tenant = r.Header.Get(tenantHeader)
	s.store(w, r, e)
}

func (s *Service) store(w http.ResponseWriter, r *http.Request, e *Entry) {
	var err error
	if e.Before, err = s.before(r.Context(), e); err != nil {
		if errors.Is(err, ErrUnknown) {
			s.refuseTurn(w, http.StatusConflict, "predecessor_gone")
			return
		}
		s.metrics.writes.WithLabelValues("failed").Inc()
		s.fail(w, r, err)
		return
	}
	if e.Size() > s.most {
		s.refuseTurn(w, http.StatusRequestEntityTooLarge, "oversized")
		return
	}
	began := time.Now()
	e.Expires = began.Add(s.backend.TTL())
	err = s.backend.Put(r.Context(), e)
	s.metrics.took(s.tier, "put", began)
	if err != nil {
		s.metrics.writes.WithLabelValues("failed").Inc()
		s.fail(w, r, err)
		return
	}
	s.worked()
	s.metrics.writes.WithLabelValues("stored").Inc()
	s.metrics.moved(s.tier, "written", e.Size())
	w.WriteHeader(http.StatusNoContent)
}

// before are the items that a turn goes on with.
func (s *Service) before(ctx context.Context, e *Entry) ([]byte, error) {
	if e.Previous == "" {
		return nil, nil
	}
	key := keyOf(e.Tenant, e.Previous)
	if items, ok := s.given.get(key); ok {
		return items, nil
	}
	previous, err := s.backend.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return previous.Items(), nil
}

func (s *Service) refuseTurn(w http.ResponseWriter, status int, result string) {
	s.metrics.writes.WithLabelValues(result).Inc()
	http.Error(w, result, status)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
