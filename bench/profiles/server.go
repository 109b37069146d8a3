package main

import (
	"container/list"
	"math"
)

// The simulated servers: the sizes of bench/routing.
const (
	slots         = 256
	cacheBlocks   = 19208
	blockTokens   = 16
	prefillSecond = 12_000.0 // tokens
	outputToken   = 0.011    // seconds, alone
	slowdown      = 0.028    // for each further running request
	whilePrefill  = 0.5      // pace of decoding while a prompt is prefilled
)

// request is one request on its way.
type request struct {
	blocks         []uint64 // identities of the prompt's blocks, each depending on those before
	output         int
	arrived, first float64
	hit            int // blocks found in the cache
	doneAt         float64
	lease          uint32
}

// server is one model server. Its clock is advanced by the caller.
type server struct {
	now      float64
	waiting  []*request
	prefill  *request // being prefilled, until prefillEnds
	until    float64
	running  []*request
	progress float64 // tokens that a request which runs all the time would have
	used     int     // blocks of requests in the batch
	lru      *list.List
	cached   map[uint64]*list.Element
	finished func(*request)
}

func newServer(finished func(*request)) *server {
	return &server{lru: list.New(), cached: map[uint64]*list.Element{}, finished: finished}
}

// pace is how many tokens a second each running request gets.
func (s *server) pace() float64 {
	p := 1 / (outputToken * (1 + slowdown*float64(max(len(s.running)-1, 0))))
	if s.prefill != nil {
		p *= whilePrefill
	}
	return p
}

// next is when something happens by itself.
func (s *server) next() float64 {
	at := math.Inf(1)
	if s.prefill != nil {
		at = s.until
	}
	for _, r := range s.running {
		at = min(at, s.now+max(r.doneAt-s.progress, 0)/s.pace())
	}
	return at
}

// advance lets everything happen until t.
func (s *server) advance(t float64) {
	for {
		at := s.next()
		if at > t {
			break
		}
		s.pass(at)
		if s.prefill != nil && at >= s.until {
			r := s.prefill
			s.prefill, r.first, r.doneAt = nil, at, s.progress+float64(r.output)
			s.running = append(s.running, r)
		}
		s.finish()
		s.admit()
	}
	s.pass(t)
}

func (s *server) pass(t float64) {
	s.progress += (t - s.now) * s.pace()
	s.now = t
}

func (s *server) finish() {
	const nothing = 1e-6
	kept := s.running[:0]
	for _, r := range s.running {
		if r.doneAt <= s.progress+nothing {
			s.used -= r.size()
			s.finished(r)
		} else {
			kept = append(kept, r)
		}
	}
	s.running = kept
}

// admit begins the next prompt when there is room.
func (s *server) admit() {
	if s.prefill != nil || len(s.waiting) == 0 || len(s.running) >= slots {
		return
	}
	r := s.waiting[0]
	if s.used > 0 && s.used+r.size() > cacheBlocks {
		return
	}
	s.waiting = s.waiting[1:]
	s.used += r.size()
	r.hit = s.look(r.blocks)
	s.prefill = r
	s.until = s.now + float64((len(r.blocks)-r.hit)*blockTokens)/prefillSecond
}

func (r *request) size() int { return len(r.blocks) + (r.output+blockTokens-1)/blockTokens }

// look counts the leading blocks that are cached, and caches all.
func (s *server) look(blocks []uint64) (hit int) {
	for hit < len(blocks) && s.cached[blocks[hit]] != nil {
		hit++
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		if e := s.cached[blocks[i]]; e != nil {
			s.lru.MoveToFront(e)
			continue
		}
		s.cached[blocks[i]] = s.lru.PushFront(blocks[i])
		if s.lru.Len() > cacheBlocks {
			oldest := s.lru.Back()
			delete(s.cached, s.lru.Remove(oldest).(uint64))
		}
	}
	return hit
}

func (s *server) send(r *request) {
	s.waiting = append(s.waiting, r)
	s.admit()
}

// inBatch is how many requests run, as servers count: the one being prefilled, too.
func (s *server) inBatch() int {
	if s.prefill != nil {
		return len(s.running) + 1
	}
	return len(s.running)
}
