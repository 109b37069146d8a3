package replay

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// Servers says what the simulated servers are like. Fields are called as the flags of pintle sim.
type Servers struct {
	// Count is how many there are.
	Count int
	// MaxRunning is the number of slots in a server's batch.
	MaxRunning int
	// BlockTokens and Blocks size the KV cache.
	BlockTokens, Blocks int
	// ReportedBlocks is what the metrics tell of Blocks; 0 stands for the truth. An engine that keeps blocks elsewhere,
	// too, tells of those on its GPU alone.
	ReportedBlocks int
	// PrefillTokensPerSecond is how fast prompt tokens that are not cached are processed, one prompt after another.
	PrefillTokensPerSecond float64
	// TimePerOutputToken is the pace of a request that runs alone; each further one in the batch adds BatchSlowdown of
	// it.
	TimePerOutputToken time.Duration
	BatchSlowdown      float64
	// MaxPrefills is how many prompts may be in the batch that are not processed yet; 0 is any number.
	MaxPrefills int
	// WhilePrefill is the part of its pace that decoding keeps while a prompt is processed; 0 stands for all of it.
	WhilePrefill float64
	// Noise is the standard deviation of the logarithm of the times that prompts take; 0 is none.
	Noise float64
	// Adapters are LoRA adapters, of which a server has MaxAdapters loaded at once. AdapterLoad is for how long it
	// processes no prompt while it loads one.
	Adapters    []string
	MaxAdapters int
	AdapterLoad time.Duration
}

// DefaultServers are the ones of llm-d's report "73-capacity": Qwen3-32B on two H100 each.
func DefaultServers() Servers {
	return Servers{
		Count: 8, MaxRunning: 256, BlockTokens: 16, Blocks: 19208, PrefillTokensPerSecond: 12_000,
		TimePerOutputToken: 11 * time.Millisecond, BatchSlowdown: 0.028,
	}
}

// noiseSeed is any number.
const noiseSeed = 17

// request is one request on its way.
type request struct {
	sample  *Sample
	unseen  bool // see Request
	units   []uint64
	answer  []uint64 // units that the answer adds
	gateway int
	ends    []int // where each unit ends, in tokens
	input   int
	output  int
	size    int // tokens in a block of the cache
	private int // blocks that are not of units
	cached  int // tokens found in the cache
	adapter int // its place in Servers.Adapters from 1 on, or noAdapter
	loads   bool
	arrived float64
	first   float64
	doneAt  float64 // in progress
	lease   uint32
	// model, user, streamed and bytes, of the prompt's text, are what its decision said.
	model, user uint64
	streamed    bool
	bytes       uint32
	// tellsUsage and tellsCached say what servers report of its tokens.
	tellsUsage, tellsCached bool
}

// requestOf makes a trace's request one for a server with blocks of so many tokens.
func requestOf(r *Request, blockTokens int) *request {
	q := &request{units: r.Prompt.Blocks, answer: r.Answer, input: max(r.Input, 1), output: max(r.Output, 1),
		size: blockTokens, tellsUsage: true, tellsCached: true}
	if was := r.Recorded; was != nil {
		q.tellsUsage, q.tellsCached = was.UsageKnown, was.CachedKnown
	}
	perByte := float64(q.input) / float64(max(r.Prompt.Bytes, 1))
	q.ends = make([]int, len(q.units))
	for i := range q.ends {
		q.ends[i] = int(float64(min((i+1)*r.Prompt.UnitBytes, r.Prompt.Bytes)) * perByte)
	}
	return q
}

// blocks is how many blocks the request takes with its whole answer.
func (r *request) blocks() int { return (r.input + r.output + r.size - 1) / r.size }

// unitBlocks is how many full blocks unit i has.
func (r *request) unitBlocks(i int) int {
	start := 0
	if i > 0 {
		start = r.ends[i-1]
	}
	return r.ends[i]/r.size - start/r.size
}

// answerBlocks is how many blocks a unit of the answer has: as many as a whole one of the prompt.
func (r *request) answerBlocks() int {
	if len(r.ends) == 0 {
		return 0
	}
	return r.unitBlocks(0)
}

// found is how many tokens of the prompt are in so many leading units, at least one. One token at least is computed:
// the first of the answer comes from it.
func (r *request) found(units int) int { return min(r.ends[units-1], r.input-1) / r.size * r.size }

// report adds to a completion what is known of the request's tokens, which of a stream without usage are its events.
func (r *request) report(e *journal.Event) {
	if r.tellsUsage {
		e.UsageReported, e.InputTokens, e.PromptBytes = true, uint32(r.input), r.bytes
	}
	if r.tellsUsage || r.streamed {
		e.OutputTokens = uint32(r.output)
	}
	if r.tellsCached {
		e.CachedReported, e.CachedTokens = true, uint32(r.cached)
	}
}

// watcher is told what servers do.
type watcher interface {
	began(s *server, r *request)
	ended(s *server, r *request)
}

// server is one model server. Its clock is advanced by the caller.
type server struct {
	*Servers
	index    int
	watch    watcher
	now      float64
	waiting  queue
	prefills queue // in the batch, the first being processed until laneEnds
	laneEnds float64
	decoding []*request
	progress float64 // tokens that a request which decodes all the time would have
	cache    *cache
	adapters adapters
	random   *rand.Rand
}

func newServer(index int, like *Servers, watch watcher) *server {
	return &server{Servers: like, index: index, watch: watch, cache: newCache(like.Blocks),
		adapters: adapters{most: like.MaxAdapters}, random: rand.New(rand.NewPCG(uint64(index), noiseSeed))}
}

// running is how many requests are in the batch.
func (s *server) running() int { return len(s.decoding) + s.prefills.len() }

// pace is how many tokens a second each decoding request gets; 0 stands for no time at all.
func (s *server) pace() float64 {
	token := s.TimePerOutputToken.Seconds() * (1 + s.BatchSlowdown*float64(max(s.running()-1, 0)))
	if token <= 0 {
		return math.Inf(1)
	}
	if s.prefills.len() > 0 && s.WhilePrefill > 0 {
		token /= s.WhilePrefill
	}
	return 1 / token
}

// next is when something happens by itself.
func (s *server) next() float64 {
	at := math.Inf(1)
	if s.prefills.len() > 0 {
		at = s.laneEnds
	}
	if len(s.decoding) == 0 {
		return at
	}
	least := math.Inf(1)
	for _, r := range s.decoding {
		least = min(least, r.doneAt)
	}
	return min(at, s.now+max(least-s.progress, 0)/s.pace())
}

// advance lets everything happen until t.
func (s *server) advance(t float64) {
	for {
		at := s.next()
		if at > t {
			break
		}
		s.step(at)
	}
	s.pass(t)
}

// step lets happen what does at a time.
func (s *server) step(at float64) {
	s.pass(at)
	if s.prefills.len() > 0 && at >= s.laneEnds {
		s.prefilled()
	}
	s.finish()
	s.admit()
}

func (s *server) pass(t float64) {
	if len(s.decoding) > 0 {
		if pace := s.pace(); !math.IsInf(pace, 1) {
			s.progress += (t - s.now) * pace
		}
	}
	s.now = t
}

// prefilled has the prompt that was processed begin its answer, and the next one processed.
func (s *server) prefilled() {
	r := s.prefills.pop()
	r.first = s.now
	r.doneAt = s.progress + float64(max(r.output-1, 0))
	if s.TimePerOutputToken <= 0 {
		r.doneAt = s.progress
	}
	s.decoding = append(s.decoding, r)
	s.watch.began(s, r)
	if s.prefills.len() > 0 {
		s.laneEnds = s.now + s.prefillTime(s.prefills.first())
	}
}

func (s *server) prefillTime(r *request) float64 {
	took := float64(r.input-r.cached) / s.PrefillTokensPerSecond
	if s.Noise > 0 {
		took *= math.Exp(s.Noise * s.random.NormFloat64())
	}
	if r.loads {
		took += s.AdapterLoad.Seconds()
	}
	return took
}

func (s *server) finish() {
	// A float64 has some 15 digits: where tokens take next to no time, no time is so short that none is left.
	nothing := 1e-6
	if pace := s.pace(); !math.IsInf(pace, 1) {
		nothing = max(nothing, 1e-15*(s.progress+pace*s.now))
	}
	kept := s.decoding[:0]
	for _, r := range s.decoding {
		if r.doneAt <= s.progress+nothing {
			s.cache.release(r)
			s.adapters.release(r.adapter)
			s.watch.ended(s, r)
		} else {
			kept = append(kept, r)
		}
	}
	clear(s.decoding[len(kept):])
	s.decoding = kept
}

// admit takes requests into the batch in their order, as long as there is room. One of which the adapter cannot be
// loaded now is passed over, as in vLLM.
func (s *server) admit() {
	for i := 0; i < s.waiting.len() && s.running() < s.MaxRunning &&
		(s.MaxPrefills == 0 || s.prefills.len() < s.MaxPrefills); {
		r := s.waiting.at(i)
		if !s.adapters.room(r.adapter) {
			i++
			continue
		}
		hits, ok := s.cache.admit(r)
		if !ok {
			return
		}
		s.waiting.remove(i)
		r.loads = s.adapters.take(r.adapter)
		if hits > 0 {
			r.cached = r.found(hits)
		}
		if s.prefills.push(r); s.prefills.len() == 1 {
			s.laneEnds = s.now + s.prefillTime(r)
		}
	}
}

func (s *server) send(r *request) {
	s.waiting.push(r)
	s.admit()
}

// usage is the part of the cache that requests in the batch hold.
func (s *server) usage() float64 {
	held := s.cache.all - s.cache.blank - s.cache.idle
	for _, r := range s.decoding { // the part of the answer that is still to come is not held yet
		held -= int(r.doneAt-s.progress) / s.BlockTokens
	}
	for i := range s.prefills.len() {
		held -= s.prefills.at(i).output / s.BlockTokens
	}
	return min(max(float64(held)/float64(s.cache.all), 0), 1)
}

// queue is first in, first out.
type queue struct {
	list []*request
	head int
}

func (q *queue) len() int          { return len(q.list) - q.head }
func (q *queue) first() *request   { return q.list[q.head] }
func (q *queue) at(i int) *request { return q.list[q.head+i] }
func (q *queue) push(r *request)   { q.list = append(q.list, r) }

// remove takes out the request at i.
func (q *queue) remove(i int) {
	if i == 0 {
		q.pop()
		return
	}
	q.list = slices.Delete(q.list, q.head+i, q.head+i+1)
}

func (q *queue) pop() *request {
	r := q.list[q.head]
	q.list[q.head] = nil
	if q.head++; q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
	}
	return r
}
