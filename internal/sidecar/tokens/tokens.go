// Package tokens makes the tokens of prompts as the model servers do, for keys of their blocks. What cannot be made
// surely has none: a wrong key would be worse than no key.
package tokens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// Backend makes tokens. All methods may be called at once.
type Backend interface {
	// Tokens returns those of a prompt. The error is an ErrNone when nothing is wrong but the prompt has none that are
	// sure.
	Tokens(ctx context.Context, p *Prompt) (Encoded, error)
}

// atOnce is a backend that asks nobody for most prompts: having another goroutine wait for those costs more than it
// helps. done is false for the others.
type atOnce interface {
	atOnce(p *Prompt) (e Encoded, done bool, err error)
}

// Encoded is a prompt as a model server computes it.
type Encoded struct {
	Tokens []uint32
	// Media are the images, audios and videos that some of the tokens stand for.
	Media []Media
	// Timed says that the prompt tells the time, and is another one later.
	Timed bool
}

// Media says that the tokens from Offset on stand for what has that Hash, its identifier in the engine.
type Media struct {
	Hash           string
	Offset, Length int
}

// ErrNone says that a prompt has no tokens that are sure, and why.
type ErrNone string

// Error implements error.
func (e ErrNone) Error() string { return string(e) }

// Pool is a bounded number of workers before a backend, with a memory of what it has made.
type Pool struct {
	backend Backend
	workers chan struct{}
	cache   *cache
	metrics *Metrics
	timeout time.Duration
}

// backendTimeout bounds what a backend may take that has no limit of its own above that, though nobody waits any more:
// what it makes is kept for the next.
const backendTimeout = 5 * time.Second

// NewPool opens what the configuration says.
func NewPool(c *scoring.TokenBackend, servers Servers) (*Pool, error) {
	backend, err := open(c, servers)
	if err != nil {
		return nil, err
	}
	p := newPool(backend, c.Workers)
	switch b := backend.(type) {
	case *renderer:
		p.timeout = max(p.timeout, b.text, b.images)
	case *service:
		p.timeout = max(p.timeout, b.text, b.images)
	}
	return p, nil
}

func newPool(backend Backend, workers int) *Pool {
	return &Pool{backend: backend, workers: make(chan struct{}, max(workers, 1)), cache: newCache(cacheBytes),
		metrics: newMetrics(), timeout: backendTimeout}
}

// open makes the backend of a kind.
func open(c *scoring.TokenBackend, servers Servers) (Backend, error) {
	switch c.Kind {
	case scoring.TokensOfEngine:
		return &engines{servers: servers}, nil
	case scoring.TokensRendered:
		return newRenderer(c), nil
	case scoring.TokensLocal:
		l, err := newLocal(c, servers)
		if err != nil {
			return nil, fmt.Errorf("%s: tokenizersPoolConfig.local: %w", c.At, err)
		}
		return l, nil
	case scoring.TokensDownloaded:
		l, err := newDownloaded(c, servers)
		if err != nil {
			return nil, fmt.Errorf("%s: tokenizersPoolConfig.hf: %w", c.At, err)
		}
		return l, nil
	}
	return newService(c, servers), nil
}

// Note says what the backend cannot do, for those who start it; empty is nothing.
func (p *Pool) Note() string {
	switch b := p.backend.(type) {
	case *local:
		return b.note
	case *later:
		return fmt.Sprintf("no tokenizer yet, requests go by the filter's own index: tokenizersPoolConfig.hf: %v",
			b.failed)
	}
	return ""
}

// Tokens returns the tokens of a prompt.
func (p *Pool) Tokens(ctx context.Context, prompt *Prompt) (Encoded, error) {
	if prompt.IDs != nil {
		return Encoded{Tokens: prompt.IDs}, nil
	}
	key := prompt.key()
	if e, ok := p.cache.get(key); ok {
		p.metrics.prompts.WithLabelValues("seen").Inc()
		return e, nil
	}
	select {
	case p.workers <- struct{}{}:
	case <-ctx.Done():
		p.metrics.prompts.WithLabelValues("busy").Inc()
		return Encoded{}, ctx.Err()
	}
	if here, ok := p.backend.(atOnce); ok {
		if e, done, err := p.atOnce(here, key, prompt); done {
			return e, cmp.Or(err, ctx.Err())
		}
	}
	return p.wait(ctx, key, prompt)
}

// atOnce has a worker make tokens here. It is free again unless others have to be asked.
func (p *Pool) atOnce(backend atOnce, key cacheKey, prompt *Prompt) (e Encoded, done bool, err error) {
	ask := false
	defer func() { // whatever a prompt brings about
		if !ask {
			<-p.workers
		}
	}()
	began := time.Now()
	if e, done, err = backend.atOnce(prompt); done {
		p.keep(key, began, &e, err)
	}
	ask = !done
	return e, done, err
}

// wait waits for a worker to make tokens, which goes on when nobody waits any more.
func (p *Pool) wait(ctx context.Context, key cacheKey, prompt *Prompt) (Encoded, error) {
	type result struct {
		encoded Encoded
		err     error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-p.workers }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
		defer cancel()
		began := time.Now()
		e, err := p.backend.Tokens(ctx, prompt)
		p.keep(key, began, &e, err)
		done <- result{e, err}
	}()
	select {
	case r := <-done:
		return r.encoded, r.err
	case <-ctx.Done():
		return Encoded{}, ctx.Err()
	}
}

// keep notes what came of a prompt.
func (p *Pool) keep(key cacheKey, began time.Time, e *Encoded, err error) {
	p.metrics.made(began, e, err)
	if err == nil && !e.Timed {
		p.cache.put(key, *e)
	}
}

// isNone reports whether an error says that nothing is wrong.
func isNone(err error) bool {
	var none ErrNone
	return errors.As(err, &none)
}
