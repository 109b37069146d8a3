package replay

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/pintle-dev/pintle/internal/recording"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// lease names a decision.
type lease struct {
	instance uint64
	number   uint32
}

// recorder makes requests of a recording's events.
type recorder struct {
	trace  *Trace
	open   map[lease]int // of Requests
	ended  []bool
	models map[uint64]string
	began  int64
	// tokens and bytes are those of the prompts that are text alone and of which servers reported the tokens.
	tokens, bytes float64
	asked         map[int]uint64 // the model of each request
	// named are endpoints in the order of their names, serves are those that were to answer clients or did, and servers
	// are their places among the trace's Endpoints.
	named   []uint64
	names   map[uint64]string
	serves  map[uint64]bool
	servers map[uint64]int
}

// readRecording reads what pintle record has written. Requests that were refused, failed, or had not ended are counted
// and not replayed.
func readRecording(in *bufio.Reader) (*Trace, error) {
	file, err := recording.NewReader(in)
	if err != nil {
		return nil, err
	}
	r := &recorder{
		trace: &Trace{Format: "recording", Failed: map[string]int{}}, open: map[lease]int{},
		models: map[uint64]string{}, asked: map[int]uint64{},
		names: map[uint64]string{}, serves: map[uint64]bool{}, servers: map[uint64]int{},
	}
	names := map[uint64]string{}
	for {
		item, err := file.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		switch {
		case item.Event != nil:
			r.take(item.Event, names)
		case item.Name != "" && item.Kind == recording.EndpointName:
			r.named = append(r.named, item.Hash)
			r.names[item.Hash] = item.Name
		case item.Name != "" && item.Kind == journal.ModelName:
			r.models[item.Hash] = item.Name
		case item.Name != "" && item.Kind == journal.ReasonName:
			names[item.Hash] = item.Name
		}
		r.trace.Missed += int(min(item.Missed, math.MaxInt32))
	}
	r.trace.Damaged = file.Damaged
	r.finish()
	return r.trace, nil
}

// server is the place of an endpoint among the trace's, which it gets if it has none.
func (r *recorder) server(id uint64) int {
	place, ok := r.servers[id]
	if !ok {
		place = len(r.trace.Endpoints)
		r.servers[id] = place
		r.trace.Endpoints = append(r.trace.Endpoints, cmp.Or(r.names[id], fmt.Sprintf("endpoint-%016x", id)))
	}
	return place
}

func (r *recorder) take(e *journal.Event, reasons map[uint64]string) {
	if r.began == 0 {
		r.began = e.Time
	}
	switch e.Kind {
	case journal.Decision:
		r.decided(e)
	case journal.Completion:
		r.completed(e)
	case journal.Refused:
		reason := reasons[e.Reason]
		r.trace.Failed[cmp.Or(reason, "refused")]++
	}
}

func (r *recorder) decided(e *journal.Event) {
	q := Request{At: float64(e.Time-r.began) / 1e9, User: e.User, Stream: e.Streamed,
		Recorded: &Recorded{Endpoint: e.Primary}}
	if e.Predicted {
		q.Recorded.Predicted = int(e.PredictedTokens)
	}
	q.Prompt = promptOf(e)
	r.serves[e.Primary] = true
	r.asked[len(r.trace.Requests)] = cmp.Or(e.Asked, e.Model)
	r.open[lease{e.Instance, e.Lease}] = len(r.trace.Requests)
	r.trace.Requests = append(r.trace.Requests, q)
	r.ended = append(r.ended, false)
}

// promptOf takes the chain that tells most of the prompt, of several the finest.
func promptOf(e *journal.Event) Prompt {
	p := Prompt{Bytes: int(e.PromptBytes)}
	best := 0
	for i := range e.Chains {
		c := &e.Chains[i]
		if c.ID == scoring.MediaChainID() {
			continue // an image says nothing of the text around it
		}
		size, blocks := blockBytes(c, int(e.PromptBytes)), c.Blocks
		if growing, ok := state.Growing(c.ID); ok {
			size, blocks = growing.BlockBytes, evenBlocks(growing, blocks)
		}
		told := size * len(blocks)
		if e.PromptBytes > 0 && told-size < int(e.PromptBytes) { // the last block of some is not full
			told = min(told, int(e.PromptBytes))
		}
		if told > best || told == best && size < p.UnitBytes {
			best = told
			p.UnitBytes, p.Blocks = size, blocks
		}
	}
	p.Blocks = slices.Clone(p.Blocks)
	p.Bytes = max(p.Bytes, best)
	return p
}

// evenBlocks cuts blocks that grow into such as are as long as the first ones: what is within one is equal where all of
// it is.
func evenBlocks(chain state.Chain, blocks []uint64) (even []uint64) {
	for i, hash := range blocks {
		for range chain.Block(i) / chain.BlockBytes {
			even = append(even, mix(hash^uint64(len(even))))
		}
	}
	return even
}

// blockBytes is the size of a chain's blocks, as its ID tells; else what divides the prompt.
func blockBytes(c *journal.Chain, bytes int) int {
	const most = 1 << 24
	chain := state.Chain{BlockBytes: int(uint32(c.ID)), IDs: true}
	switch {
	case c.ID > 0 && c.ID < most:
		return int(c.ID)
	case ^c.ID > 0 && ^c.ID < most:
		return int(^c.ID)
	case chain.BlockBytes > 0 && chain.BlockBytes < most && chain.ID() == c.ID:
		return chain.BlockBytes
	}
	return bytes / max(len(c.Blocks), 1)
}

func (r *recorder) completed(e *journal.Event) {
	at, ok := r.open[lease{e.Instance, e.Lease}]
	if !ok {
		return
	}
	delete(r.open, lease{e.Instance, e.Lease})
	q := &r.trace.Requests[at]
	q.Recorded.Endpoint = e.Primary
	r.serves[e.Primary] = true
	if e.Status != 200 {
		r.trace.Failed[failure(e)]++
		return
	}
	r.ended[at] = true
	q.Output = max(int(e.OutputTokens), 1)
	q.Recorded.Duration = float64(e.DurationMicros) / 1e6
	if q.Stream {
		q.Recorded.TTFT = float64(e.TTFTMicros) / 1e6
	}
	q.Recorded.Cut = cut(e)
	if e.CachedReported {
		q.Recorded.Cached, q.Recorded.CachedKnown = int(e.CachedTokens), true
	}
	if e.UsageReported {
		q.Input, q.Recorded.UsageKnown = int(e.InputTokens), true
	}
	if e.PromptBytes > 0 {
		q.Prompt.Bytes = max(q.Prompt.Bytes, int(e.PromptBytes))
	}
	if e.UsageReported && e.PromptBytes > 0 {
		r.tokens, r.bytes = r.tokens+float64(q.Input), r.bytes+float64(q.Prompt.Bytes)
	}
}

// failure says what became of a request that was not answered as it should be. Where the server is not to blame the
// client may have been answered by Envoy.
func failure(e *journal.Event) string {
	status := cmp.Or(e.Status, e.Code)
	switch {
	case status != 0:
		return fmt.Sprintf("status %d", status)
	case e.Ended == journal.EndedUnknown:
		return "of unknown end" // nobody looked
	}
	return "unanswered"
}

// cut reports whether an answer did not come to its end. Where nobody looked, it is one of which no byte was seen.
func cut(e *journal.Event) bool {
	if e.Ended == journal.EndedUnknown {
		return e.TTFTMicros == 0
	}
	return e.Ended != journal.EndedWhole
}

// finish drops what was not answered and fills in what was not reported.
func (r *recorder) finish() {
	perByte := 1.0 / bytesPerToken
	if r.bytes > 0 && r.tokens > 0 {
		perByte = r.tokens / r.bytes
	}
	kept := r.trace.Requests[:0]
	for i := range r.trace.Requests {
		q := &r.trace.Requests[i]
		if !r.ended[i] {
			continue
		}
		if q.Model = r.models[r.asked[i]]; q.Model == "" && r.asked[i] != 0 {
			q.Model = fmt.Sprintf("model-%016x", r.asked[i])
		}
		if q.Input == 0 {
			q.Input = int(float64(q.Prompt.Bytes) * perByte)
		}
		if q.Prompt.Bytes == 0 {
			q.Prompt.Bytes = int(float64(q.Input) / perByte)
		}
		kept = append(kept, *q)
	}
	r.trace.Unended = len(r.open)
	r.trace.Requests = kept
	for _, id := range r.named {
		if r.serves[id] { // others have a name for what they do before an answer, such as prefill
			r.server(id)
		}
	}
	for i := range kept {
		kept[i].Recorded.Server = r.server(kept[i].Recorded.Endpoint)
	}
	if r.trace.Servers = len(r.trace.Endpoints); r.trace.Servers == 0 {
		r.trace.Servers = 1
	}
}

// Recorded are samples of what was recorded, nil where the trace does not tell.
func (t *Trace) Recorded() []Sample {
	var samples []Sample
	for i := range t.Requests {
		q := &t.Requests[i]
		if q.Recorded == nil {
			return nil
		}
		s := Sample{
			At: q.At, TTFT: q.Recorded.TTFT, Whole: q.Recorded.Duration, Cut: q.Recorded.Cut, Input: q.Input,
			Output: q.Output, Cached: q.Recorded.Cached, CachedUnknown: !q.Recorded.CachedKnown,
			Predicted: q.Recorded.Predicted, Server: q.Recorded.Server,
		}
		if q.Output > 1 && s.TTFT > 0 && s.Whole > s.TTFT {
			s.TPOT = (s.Whole - s.TTFT) / float64(q.Output-1)
		}
		samples = append(samples, s)
	}
	return samples
}
