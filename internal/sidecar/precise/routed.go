package precise

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/journal"
)

// RoutedPath is where the filter tells which servers requests were sent to, for speculative indexing: pairs of the
// number of a lookup and the identity of a server, little-endian.
const RoutedPath = Path + "/routed"

// routedBytes are those of a pair.
const routedBytes = 16

// routed keeps the prompts of the latest lookups until it is known where the requests went: that is told within
// milliseconds. The oldest go first.
type routed struct {
	mu    sync.Mutex
	next  uint64 // the latest one's number
	gone  uint64 // that of the latest one that is no longer kept, with all before it
	bytes int
	last  [mostRouted]looked
}

type looked struct {
	number uint64
	model  string
	prompt *kvindex.Prompt
	bytes  int
}

// mostRouted bounds how many lookups are kept, mostRoutedBytes what they take: eight million tokens.
const (
	mostRouted      = 4096
	mostRoutedBytes = 32 << 20
)

// keep returns the number of a lookup, which is not 0.
func (r *routed) keep(model string, p *kvindex.Prompt) uint64 {
	bytes := len(model) + len(p.Salt) + 4*len(p.Tokens)
	for i := range p.Media {
		bytes += 64 + len(p.Media[i].Hash)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	if bytes > mostRoutedBytes {
		return r.next
	}
	for r.bytes+bytes > mostRoutedBytes || r.next-r.gone > mostRouted {
		r.gone++
		oldest := &r.last[r.gone%mostRouted]
		r.bytes -= oldest.bytes
		*oldest = looked{}
	}
	r.last[r.next%mostRouted] = looked{r.next, model, p, bytes}
	r.bytes += bytes
	return r.next
}

// take returns a lookup, one without a prompt when it is gone.
func (r *routed) take(number uint64) (l looked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l = r.last[number%mostRouted]; l.number != number {
		return looked{}
	}
	return l
}

// takeRouted has the blocks of requests count where these were sent.
func (s *Service) takeRouted(ctx context.Context, body []byte) {
	names := map[uint64]string{}
	for _, name := range s.Endpoints() {
		names[journal.HashName(name)] = name
	}
	for ; len(body) >= routedBytes; body = body[routedBytes:] {
		l := s.routed.take(binary.LittleEndian.Uint64(body))
		name, known := names[binary.LittleEndian.Uint64(body[8:])]
		if l.prompt == nil || !known {
			continue
		}
		if err := s.Blocks.ExpectPrompt(ctx, name, l.model, l.prompt); err != nil {
			s.Log.Debug("blocks are not taken for those of a server", "endpoint", name, "error", err)
		}
	}
}
