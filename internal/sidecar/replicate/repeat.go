package replicate

import (
	"context"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// sentBatch is one that was appended of late, or that waits to be. A server that ends, or is flushed, may lose it
// before others read it.
type sentBatch struct {
	appended time.Time
	end      journal.Position // where the next process goes on once it is appended
	events   int
	text     []byte
}

// recentAge is how long batches are kept for the case that the server loses them, recentBatches how many at most. A
// reader that could not reach the server needs up to 3 s to try again.
var recentAge = 10 * time.Second

const recentBatches = 256

// publish appends a batch. Where that fails it waits, as does what comes behind it: catchUp tries again, so that
// nobody who posts to Envoy is held up.
func (p *publisher) publish(b sentBatch) {
	if len(p.waiting) > 0 {
		p.waiting = append(p.waiting, b)
		return
	}
	lost, err := p.append(b.text, b.events, b.end)
	if p.ctx.Err() != nil {
		return // what is not appended is left to the next process
	}
	p.note("append", err)
	if err == nil {
		// It is among those that are repeated: it may be lost since it was appended.
		p.keep(b)
	}
	if err != nil || lost {
		p.repeat()
	}
	if err != nil {
		p.wait(b)
	}
	p.forget()
}

// keep keeps a batch that has been appended just now.
func (p *publisher) keep(b sentBatch) {
	if len(b.text) > 0 {
		b.appended = time.Now()
		p.recent = append(p.recent, b)
	}
}

// repeat has what others may not have read wait to be appended once more. They get as long for that as the first time:
// a server that stood still may end before it has served them.
func (p *publisher) repeat() {
	for _, b := range p.recent {
		if b.end.Epoch == p.told.Epoch {
			b.end = p.told
			p.wait(b)
		}
	}
	p.recent = nil
}

// repeatFirst is repeat for what is to be appended before what waits already, as where the next process goes on must
// not go back.
func (p *publisher) repeatFirst() {
	behind := p.waiting
	p.waiting = nil
	p.repeat()
	p.waiting = append(p.waiting, behind...)
}

// wait has a batch be appended by catchUp.
func (p *publisher) wait(b sentBatch) {
	p.waiting = append(p.waiting, b)
	p.behind.Store(true)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// catchUp appends what waits, however long that takes, until ctx ends.
func (p *publisher) catchUp(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		p.retry(ctx, "append", func() error {
			for {
				if more, err := p.next(); err != nil || !more {
					return err
				}
			}
		})
	}
}

// next appends the first batch that waits.
func (p *publisher) next() (more bool, err error) {
	p.appending.Lock()
	defer p.appending.Unlock()
	if len(p.waiting) == 0 {
		return false, nil
	}
	b := p.waiting[0]
	lost, err := p.append(b.text, b.events, b.end)
	if err != nil {
		return true, err
	}
	p.waiting = slices.Delete(p.waiting, 0, 1)
	if lost {
		p.repeatFirst()
	}
	p.keep(b)
	more = len(p.waiting) > 0
	if !more {
		p.forget()
	}
	p.behind.Store(more)
	return more, nil
}

// forget drops the batches that others have read by now.
func (p *publisher) forget() {
	old := 0
	for old < len(p.recent) && (time.Since(p.recent[old].appended) > recentAge || len(p.recent)-old > recentBatches) {
		old++
	}
	p.recent = slices.Delete(p.recent, 0, old)
}
