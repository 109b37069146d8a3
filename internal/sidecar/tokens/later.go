package tokens

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/pace"
)

// later makes tokens from when on the Hub has been reached. Until then nothing sure can be said of any prompt.
type later struct {
	load   func(context.Context) (*local, error)
	failed error // the first time
	least  time.Duration
	loaded atomic.Pointer[local]
}

// errUnreached is that of a Hub that could not be reached, or was not well. It may be another time.
type errUnreached struct{ error }

// Unwrap is for errors.As.
func (e errUnreached) Unwrap() error { return e.error }

const (
	// firstTry is for how long a start may wait for a Hub; then it is tried again between leastRetry and mostRetry.
	firstTry   = 15 * time.Second
	leastRetry = time.Second
	mostRetry  = time.Minute
)

// Tokens implements Backend.
func (l *later) Tokens(ctx context.Context, p *Prompt) (Encoded, error) {
	if loaded := l.loaded.Load(); loaded != nil {
		return loaded.Tokens(ctx, p)
	}
	return Encoded{}, ErrNone("no tokenizer yet")
}

// atOnce implements the interface of that name.
func (l *later) atOnce(p *Prompt) (e Encoded, done bool, err error) {
	if loaded := l.loaded.Load(); loaded != nil {
		return loaded.atOnce(p)
	}
	return e, false, nil
}

// run tries until there is a tokenizer, or ctx ends. What is in the way is logged when it is something else.
func (l *later) run(ctx context.Context, log *slog.Logger) {
	for misses, said := 1, l.failed.Error(); ; misses++ {
		pace.Sleep(ctx, pace.Jitter(pace.Backoff(l.least, misses, mostRetry)))
		if ctx.Err() != nil {
			return
		}
		trying, cancel := context.WithTimeout(ctx, hubTimeout)
		loaded, err := l.load(trying)
		cancel()
		if err == nil {
			l.loaded.Store(loaded)
			log.Info("there is a tokenizer now")
			if loaded.note != "" {
				log.Warn(loaded.note)
			}
			return
		}
		if err.Error() != said {
			said = err.Error()
			log.Warn("still no tokenizer", "error", err)
		}
	}
}

// Run does what is left to do after NewPool, until ctx ends.
func (p *Pool) Run(ctx context.Context, log *slog.Logger) {
	if l, ok := p.backend.(*later); ok {
		l.run(ctx, log)
	}
}
