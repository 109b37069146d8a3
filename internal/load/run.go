package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config describes a run. It needs URL, Requests, one of Rate, Due and Workers, and, but with Due, at least one of
// Count and Duration.
type Config struct {
	// URL is the gateway's base, such as http://127.0.0.1:10000.
	URL string
	// Path is where requests go. Default /v1/chat/completions.
	Path string
	// Requests are sent in order, from the first again once all have been sent.
	Requests []Request
	// Rate makes an open-loop run: so many requests per second on average, with exponential gaps (Poisson arrivals).
	Rate float64
	// Due makes an open-loop run with one time for each of Requests, rising, counted from the start.
	Due []time.Duration
	// Workers makes a closed-loop run with so many requests at a time.
	Workers int
	// Count ends the run after so many requests. 0 is no bound.
	Count int
	// Duration ends the sending after this time. 0 is no bound.
	Duration time.Duration
	// Drain is how long requests under way may still take once the sending is over. Default 60s.
	Drain time.Duration
	// Timeout bounds one request. Default 5m.
	Timeout time.Duration
	// MaxInFlight bounds an open-loop run. An arrival that finds so many requests under way is dropped and counted.
	// Default 4096.
	MaxInFlight int
	// Seed fixes the arrival times.
	Seed uint64
	// Header is added to every request.
	Header http.Header
	// Client sends the requests. Default: HTTP/1.1 with as many idle connections as the run can use.
	Client *http.Client
}

func (c Config) withDefaults() Config {
	if c.Path == "" {
		c.Path = "/v1/chat/completions"
	}
	if c.Drain == 0 {
		c.Drain = time.Minute
	}
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Minute
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 4096
	}
	if c.Count == 0 {
		c.Count = math.MaxInt
	}
	if len(c.Due) > 0 {
		c.Count = min(c.Count, len(c.Due))
	}
	if c.Duration == 0 {
		c.Duration = math.MaxInt64
	}
	return c
}

func (c Config) validate() error {
	switch {
	case !strings.HasPrefix(c.URL, "http://") && !strings.HasPrefix(c.URL, "https://"):
		return fmt.Errorf("load: URL %q: want http://host:port", c.URL)
	case len(c.Requests) == 0:
		return errors.New("load: Requests is empty: want at least one")
	case len(c.Due) > 0 && (c.Rate != 0 || c.Workers != 0 || len(c.Due) != len(c.Requests)):
		return fmt.Errorf("load: Due %d: want one for each request, and neither Rate nor Workers", len(c.Due))
	case len(c.Due) == 0 && (c.Rate != 0) == (c.Workers != 0):
		return fmt.Errorf("load: Rate %v, Workers %d: want exactly one of them", c.Rate, c.Workers)
	case c.Rate < 0 || math.IsNaN(c.Rate) || math.IsInf(c.Rate, 0):
		return fmt.Errorf("load: Rate %v: want a number above 0", c.Rate)
	case c.Workers < 0:
		return fmt.Errorf("load: Workers %d: want 1 or more", c.Workers)
	case c.Count < 0 || c.MaxInFlight < 0:
		return fmt.Errorf("load: Count %d, MaxInFlight %d: want neither below 0", c.Count, c.MaxInFlight)
	case c.Duration < 0 || c.Drain < 0 || c.Timeout < 0:
		return fmt.Errorf("load: Duration %v, Drain %v, Timeout %v: want none below 0", c.Duration, c.Drain, c.Timeout)
	case c.Count == 0 && c.Duration == 0 && len(c.Due) == 0:
		return errors.New("load: Count and Duration are 0: want a bound")
	}
	return nil
}

// open reports whether requests come whether or not earlier ones have been answered.
func (c *Config) open() bool { return c.Rate > 0 || len(c.Due) > 0 }

// run is one run under way.
type run struct {
	config Config
	target string
	client *http.Client
	start  time.Time

	next     atomic.Int64
	inFlight atomic.Int64
	mu       sync.Mutex
	result   Result
}

// Run sends the requests and waits for their answers. Requests that fail are part of the result, not an error. When ctx
// ends, or the time to drain is over, requests under way are given up and counted as failed.
func Run(ctx context.Context, config Config) (*Result, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	r := &run{config: config, target: strings.TrimSuffix(config.URL, "/") + config.Path, client: config.Client}
	if r.client == nil {
		transport := newTransport(max(config.Workers, config.MaxInFlight))
		defer transport.CloseIdleConnections()
		r.client = &http.Client{Transport: transport}
	}
	requestContext, giveUp := context.WithCancel(ctx)
	defer giveUp()
	sendContext, stop := context.WithTimeout(ctx, config.Duration)
	defer stop()
	r.start = time.Now()
	var underWay sync.WaitGroup
	if config.open() {
		r.openLoop(sendContext, requestContext, &underWay)
	} else {
		r.closedLoop(sendContext, requestContext, &underWay)
	}
	drained := make(chan struct{})
	go func() {
		underWay.Wait()
		close(drained)
	}()
	// A closed loop is waited for from its start, an open one from its last arrival; both may drain after sending ends.
	r.wait(sendContext, drained, giveUp)
	r.result.Elapsed = time.Since(r.start)
	return &r.result, nil
}

func (r *run) wait(sendContext context.Context, drained <-chan struct{}, giveUp context.CancelFunc) {
	if !r.config.open() {
		select {
		case <-drained:
			return
		case <-sendContext.Done():
		}
	}
	timer := time.NewTimer(r.config.Drain)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
		giveUp()
		<-drained
	}
}

func newTransport(connections int) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Protocols: &protocols, MaxIdleConns: connections, MaxIdleConnsPerHost: connections,
		IdleConnTimeout:    time.Minute,
		DisableCompression: true, ReadBufferSize: 16 << 10, WriteBufferSize: 32 << 10,
	}
}

// take returns the index of the next request, or false when the count is used up.
func (r *run) take() (int, bool) {
	i := r.next.Add(1) - 1
	return int(i), i < int64(r.config.Count)
}

func (r *run) closedLoop(sendContext, requestContext context.Context, underWay *sync.WaitGroup) {
	for range r.config.Workers {
		underWay.Go(func() {
			// Either may be the first to notice that the caller's context has ended.
			for sendContext.Err() == nil && requestContext.Err() == nil {
				i, ok := r.take()
				if !ok {
					return
				}
				r.send(requestContext, i, time.Now())
			}
		})
	}
}

// openLoop returns after the last arrival. Latencies count from the moment at which a request was due, so a client or a
// gateway that falls behind cannot hide it.
func (r *run) openLoop(sendContext, requestContext context.Context, underWay *sync.WaitGroup) {
	random := rand.New(rand.NewPCG(r.config.Seed, 0))
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := r.start
	for n := 0; n < r.config.Count; n++ {
		due := last.Add(time.Duration(random.ExpFloat64() / r.config.Rate * float64(time.Second)))
		if len(r.config.Due) > 0 {
			due = r.start.Add(r.config.Due[n])
		}
		last = due
		if due.Sub(r.start) >= r.config.Duration || !sleepUntil(sendContext, timer, due) {
			return
		}
		i, ok := r.take()
		if !ok {
			return
		}
		if r.inFlight.Add(1) > int64(r.config.MaxInFlight) {
			r.inFlight.Add(-1)
			r.drop()
			continue
		}
		underWay.Go(func() {
			defer r.inFlight.Add(-1)
			r.send(requestContext, i, due)
		})
	}
}

func sleepUntil(ctx context.Context, timer *time.Timer, t time.Time) bool {
	if left := time.Until(t); left > 0 {
		timer.Reset(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

func (r *run) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Dropped++
}

func (r *run) send(ctx context.Context, i int, due time.Time) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	sample := r.exchange(ctx, &r.config.Requests[i%len(r.config.Requests)], due)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Samples = append(r.result.Samples, sample)
}
