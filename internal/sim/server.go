package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// Server is one simulated model server. It is an http.Handler and safe for concurrent use.
type Server struct {
	config  Config
	engine  *engine
	metrics *metricsPage
	log     requestLog
	pinned  atomic.Pointer[pins]
	failure atomic.Pointer[failure]
	ids     atomic.Uint64
	idSeed  uint64

	// name, address and role are header values, ready to be put into a header map.
	name, address, role []string

	mu      sync.Mutex
	closed  bool
	serving map[*http.Server]bool
}

// New returns a server with an empty cache. The error names the field of config that is wrong.
func New(config Config) (*Server, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		config: config, engine: newEngine(config, &stats{}), metrics: newMetricsPage(config),
		idSeed: xxhash.Sum64String(config.Name) ^ config.Seed, name: []string{config.Name},
		serving: map[*http.Server]bool{},
	}
	if config.Address != "" {
		s.address = []string{config.Address}
	}
	if config.Role != "" {
		s.role = []string{config.Role}
	}
	return s, nil
}

// Close ends all requests and makes Serve return. Later requests get 503. It may be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.engine.closed)
	for server := range s.serving {
		_ = server.Close()
	}
	for _, e := range s.events() {
		e.publisher.Close()
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.setHeaders(w.Header(), r)
	path := r.URL.Path
	if strings.HasPrefix(path, "/sim/") {
		s.control(w, r)
		return
	}
	if s.config.Instant && r.Method == http.MethodPost {
		s.answerInstantly(w, r)
		return
	}
	if isProbe(r) {
		if !s.fail(w, r, targetProbes) {
			s.probe(w, r)
		}
		return
	}
	body, ok := s.receive(w, r)
	if !ok || s.fail(w, r, targetAPI) {
		return
	}
	s.serveAPI(s.cut(w), r, body)
}

func (s *Server) setHeaders(h http.Header, r *http.Request) {
	h["X-Sim-Server"] = s.name
	if s.role != nil {
		h["X-Sim-Role"] = s.role
	}
	if s.address != nil {
		h["X-Sim-Address"] = s.address
	} else if address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		h["X-Sim-Address"] = []string{address.String()}
	}
}

// isProbe tells what a sidecar or a kubelet asks again and again; it is neither counted nor recorded.
func isProbe(r *http.Request) bool {
	switch r.URL.Path {
	case "/metrics", "/metrics/", "/health", "/ping", "/version", "/kv_event_sources":
		return true
	case "/v1/models":
		return r.Method == http.MethodGet
	}
	return false
}

func (s *Server) probe(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/models":
		s.listModels(w)
	case "/metrics":
		s.metrics.serve(w, s.engine.load(), s.pinned.Load(), nil)
	case "/metrics/":
		s.metrics.serve(w, s.engine.load(), s.pinned.Load(), r.URL.Query()["name[]"])
	case "/kv_event_sources":
		s.showSources(w)
	case "/version":
		writeJSON(w, http.StatusOK, map[string]string{"version": "sim"})
	}
}

// receive reads and records a request. When it cannot, it has answered and ok is false.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	var b bytes.Buffer
	if r.ContentLength > 0 {
		b.Grow(int(min(r.ContentLength, s.config.MaxBodyBytes)) + bytes.MinRead)
	}
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, s.config.MaxBodyBytes))
	s.log.add(r, b.Bytes())
	if err == nil {
		return b.Bytes(), true
	}
	e := unreadable(err)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		e = &apiError{http.StatusRequestEntityTooLarge,
			fmt.Sprintf("request body is larger than %d bytes", tooLarge.Limit),
			"BadRequestError", ""}
	}
	e.write(w)
	return nil, false
}

func unreadable(err error) *apiError {
	return badRequest("", fmt.Sprintf("request body cannot be read: %v", err))
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, body []byte) {
	path := r.URL.Path
	if a, ok := apiPaths[path]; ok {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			(&apiError{http.StatusMethodNotAllowed, fmt.Sprintf("method %s: want POST", r.Method), "BadRequestError",
				""}).write(w)
			return
		}
		request, failure := parseRequest(a, body, s.config)
		if failure != nil {
			failure.write(w)
			return
		}
		s.generate(w, r, request)
		return
	}
	switch {
	case strings.HasPrefix(path, "/v1/models/"):
		s.showModel(w, strings.TrimPrefix(path, "/v1/models/"))
	case path == "/tokenize":
		s.tokenize(w, body)
	case path == "/reset_prefix_cache" && r.Method == http.MethodPost:
		s.engine.resetCaches()
	default:
		(&apiError{http.StatusNotFound, fmt.Sprintf("no such path: %q", path), "NotFoundError", ""}).write(w)
	}
}

const instantBody = `{"id":"chatcmpl-instant","object":"chat.completion","created":0,"model":"sim","choices":[{"index":0,"message":` +
	`{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"total_tokens":2,"completion_tokens":1}}`

var (
	instantBytes  = []byte(instantBody)
	instantLength = []string{strconv.Itoa(len(instantBody))}
	instantType   = []string{"application/json"}
)

func (s *Server) answerInstantly(w http.ResponseWriter, r *http.Request) {
	s.log.count.Add(1)
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		unreadable(err).write(w)
		return
	}
	if s.fail(w, r, targetAPI) {
		return
	}
	h := w.Header()
	h["Content-Type"], h["Content-Length"] = instantType, instantLength
	_, _ = s.cut(w).Write(instantBytes)
}

func (s *Server) nextID() string {
	return fmt.Sprintf("%016x", mix(s.idSeed+s.ids.Add(1)))
}
