package kvevents

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/pace"
)

// pacer keeps a publisher that floods from taking all of the processor: what it sends is read no faster.
type pacer struct {
	debt time.Duration
	seen time.Time
}

const (
	// paceBytes is how many bytes a second are taken in from one publisher for long, some hundred times what a busy
	// engine sends.
	paceBytes = 8 << 20
	// paceSlack is how far ahead of that it may be.
	paceSlack = 8 * time.Second
	// paceMessage is what a message costs beside its bytes.
	paceMessage = 256
)

// bytesOf is what a message takes, of whatever use its frames are.
func bytesOf(frames [][]byte) (n int) {
	for _, frame := range frames {
		n += len(frame)
	}
	return n
}

func (p *pacer) took(ctx context.Context, bytes int) {
	now := time.Now()
	p.debt = max(p.debt-now.Sub(p.seen), 0) + time.Duration(bytes+paceMessage)*time.Second/paceBytes
	p.seen = now
	if p.debt >= paceSlack {
		pace.Sleep(ctx, p.debt-paceSlack+10*time.Millisecond+rand.N(10*time.Millisecond))
	}
}
