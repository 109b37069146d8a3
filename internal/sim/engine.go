package sim

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

var (
	errClosed  = errors.New("server is closed")
	errAborted = errors.New("request was aborted")
)

// sequence is one request inside the engine. Its fields after the first group belong to the engine's lock, apart from
// the timestamps, which the request's own goroutine may read once the step that sets them has passed.
type sequence struct {
	promptTokens, outputTokens int
	adapter                    string
	finishReason               string
	// rank is whose cache it has, anyRank before one is chosen.
	rank int

	hold         hold
	cachedTokens int
	loadsAdapter bool
	waiting      *list.Element
	prefilling   *list.Element
	admitted     chan struct{}
	prefillTurn  chan struct{}

	arrived, started, prefillStart, firstToken time.Time
}

func newSequence(promptTokens, outputTokens int, hashes []uint64) *sequence {
	return &sequence{
		promptTokens: promptTokens, outputTokens: outputTokens, finishReason: "stop", rank: anyRank,
		hold:     hold{hashes: hashes},
		admitted: make(chan struct{}), prefillTurn: make(chan struct{}),
	}
}

// engine schedules requests on batch slots, KV-cache blocks and one prefill lane. Safe for concurrent use.
type engine struct {
	config Config
	stats  *stats
	closed chan struct{}

	mu sync.Mutex
	// caches are those of the ranks, turn counts the requests that were spread over them.
	caches  []*kvCache
	turn    int
	queue   *list.List
	running int
	peak    int
	// prefills holds the admitted sequences whose prompts are not processed yet; the front one has the lane.
	prefills *list.List
	// laneFree is when the lane's last prefill should have ended. The next one starts from here, not from when its
	// goroutine woke up, so late timers do not add up.
	laneFree time.Time
	// adapters counts running requests by adapter.
	adapters map[string]int
	// loaded are the adapters that can run at once, the one that was used last comes last.
	loaded []string
}

func newEngine(config Config, stats *stats) *engine {
	return &engine{
		config: config, stats: stats, closed: make(chan struct{}), caches: newCaches(config),
		queue: list.New(), prefills: list.New(), adapters: map[string]int{},
	}
}

// run takes a sequence through the server and calls emit with the number of tokens that are out, first after the
// prefill and then every step tokens. It returns when all are out, emit failed, ctx ended or the engine was closed;
// slot and blocks are free again then.
func (e *engine) run(ctx context.Context, s *sequence, step int, emit func(tokens int) error) (err error) {
	e.enter(s)
	// Until it is known better: emit may panic.
	err = errAborted
	defer func() { e.leave(s, err) }()
	if err := e.wait(ctx, s.admitted); err != nil {
		return err
	}
	if err := e.wait(ctx, s.prefillTurn); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	next := s.prefillStart.Add(e.config.prefillTime(s.promptTokens - s.cachedTokens))
	if s.loadsAdapter {
		next = next.Add(e.config.loadTime())
	}
	if err := e.sleepUntil(ctx, timer, next); err != nil {
		return err
	}
	e.prefilled(s, next)
	if s.outputTokens == 0 {
		return nil
	}
	for done := 1; ; {
		if err := emit(done); err != nil {
			return err
		}
		if done == s.outputTokens {
			return nil
		}
		tokens := min(step, s.outputTokens-done)
		next = next.Add(e.config.decodeTime(tokens, e.batch()))
		if err := e.sleepUntil(ctx, timer, next); err != nil {
			return err
		}
		done += tokens
		e.decoded(s, done, tokens)
	}
}

func (e *engine) wait(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.closed:
		return errClosed
	}
}

// sleepUntil does not sleep when the time has passed already.
func (e *engine) sleepUntil(ctx context.Context, timer *time.Timer, t time.Time) error {
	left := time.Until(t)
	if left <= 0 {
		return ctx.Err()
	}
	timer.Reset(left)
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.closed:
		return errClosed
	}
}

// unlock publishes what the caches have done.
func (e *engine) unlock() {
	for _, c := range e.caches {
		c.events.flush()
	}
	e.mu.Unlock()
}

func (e *engine) enter(s *sequence) {
	e.mu.Lock()
	defer e.unlock()
	s.arrived = time.Now()
	e.chooseRank(s)
	s.waiting = e.queue.PushBack(s)
	e.schedule()
}

func (e *engine) leave(s *sequence, err error) {
	e.mu.Lock()
	defer e.unlock()
	e.stats.finished(s, err)
	if s.waiting != nil {
		e.queue.Remove(s.waiting)
		s.waiting = nil
		e.schedule()
		return
	}
	if s.prefilling != nil {
		e.leaveLane(s, time.Now())
	}
	e.caches[s.rank].release(&s.hold)
	e.running--
	if s.adapter != "" {
		if e.adapters[s.adapter]--; e.adapters[s.adapter] == 0 {
			delete(e.adapters, s.adapter)
		}
	}
	e.schedule()
}

// schedule admits from the head of the queue while there are slots and blocks. A request whose adapter cannot be
// loaded now is passed over, as in vLLM; one that lacks blocks holds up those of its rank behind it.
func (e *engine) schedule() {
	var full fullRanks
	for element := e.queue.Front(); element != nil && e.running < e.config.MaxRunning; {
		s := element.Value.(*sequence)
		following := element.Next()
		if e.adapterBlocked(s.adapter) || full.has(s.rank) {
			element = following
			continue
		}
		cached, ok := e.caches[s.rank].admit(&s.hold, s.promptTokens, s.outputTokens)
		if !ok {
			if full.add(s.rank); full.n == len(e.caches) {
				return
			}
			element = following
			continue
		}
		e.queue.Remove(element)
		e.start(s, cached)
		element = following
	}
}

func (e *engine) adapterBlocked(adapter string) bool {
	return adapter != "" && e.adapters[adapter] == 0 && len(e.adapters) >= e.config.MaxAdapters
}

// loadAdapter notes that an adapter is used, which is not blocked, and reports whether it was not loaded.
func (e *engine) loadAdapter(name string) (loads bool) {
	at := slices.Index(e.loaded, name)
	if loads = at < 0; loads && len(e.loaded) == e.config.MaxAdapters {
		at = slices.IndexFunc(e.loaded, func(other string) bool { return e.adapters[other] == 0 })
	}
	if at >= 0 {
		e.loaded = slices.Delete(e.loaded, at, at+1)
	}
	e.loaded = append(e.loaded, name)
	return loads
}

func (e *engine) start(s *sequence, cached int) {
	s.waiting, s.cachedTokens, s.started = nil, cached, time.Now()
	e.running++
	e.peak = max(e.peak, e.running)
	if s.adapter != "" {
		s.loadsAdapter = e.loadAdapter(s.adapter)
		e.adapters[s.adapter]++
	}
	e.stats.admitted(s)
	close(s.admitted)
	s.prefilling = e.prefills.PushBack(s)
	if e.prefills.Front() == s.prefilling {
		e.giveLane(s)
	}
}

func (e *engine) giveLane(s *sequence) {
	s.prefillStart = s.started
	if e.laneFree.After(s.started) {
		s.prefillStart = e.laneFree
	}
	close(s.prefillTurn)
}

// leaveLane takes s out of the line for the lane, at the time end if it had the lane.
func (e *engine) leaveLane(s *sequence, end time.Time) {
	had := e.prefills.Front() == s.prefilling
	e.prefills.Remove(s.prefilling)
	s.prefilling = nil
	if !had {
		return
	}
	e.laneFree = end
	if front := e.prefills.Front(); front != nil {
		e.giveLane(front.Value.(*sequence))
	}
}

func (e *engine) prefilled(s *sequence, end time.Time) {
	e.mu.Lock()
	defer e.unlock()
	s.firstToken = time.Now()
	e.leaveLane(s, end)
	e.caches[s.rank].grow(&s.hold, s.promptTokens+min(1, s.outputTokens))
	e.stats.prefilled(s)
}

func (e *engine) decoded(s *sequence, done, tokens int) {
	e.mu.Lock()
	defer e.unlock()
	e.caches[s.rank].grow(&s.hold, s.promptTokens+done)
	e.stats.generationTokens += uint64(tokens)
}

func (e *engine) batch() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running
}

func (e *engine) resetCaches() {
	e.mu.Lock()
	defer e.unlock()
	for _, c := range e.caches {
		c.reset()
	}
}
