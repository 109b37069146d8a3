package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/scoring"
)

// engines say of the servers what real ones say of their caches: after each request which blocks they have stored. The
// tokens are made by the sidecars' own tokenizer.
type engines struct {
	pool       *tokens.Pool
	publishers map[*variant][]*kvpub.Publisher
	stored     map[*variant]map[kvindex.Key]bool
}

func newEngines(all []*variant, tokenizer string) (*engines, error) {
	pool, err := tokens.NewPool(&scoring.TokenBackend{Kind: scoring.TokensLocal, Model: preciseModel, Workers: 1,
		Files: []scoring.PreciseFile{{Model: preciseModel, Path: tokenizer}}}, nil)
	if err == nil && pool.Note() != "" {
		err = fmt.Errorf("the tokenizer does not know chats: %s", pool.Note())
	}
	if err != nil {
		return nil, err
	}
	e := &engines{pool: pool, publishers: map[*variant][]*kvpub.Publisher{},
		stored: map[*variant]map[kvindex.Key]bool{}}
	for _, v := range all {
		if v.precise == "" {
			continue
		}
		e.stored[v] = map[kvindex.Key]bool{}
		for i := range preciseServers {
			p, err := kvpub.New(kvpub.Options{Connect: stack.Address(v.eventsPort),
				Topic: "kv@" + stack.Address(v.firstServer+i) + "@" + preciseModel})
			if err != nil {
				return nil, err
			}
			e.publishers[v] = append(e.publishers[v], p)
			for end := time.Now().Add(10 * time.Second); p.Subscribers() == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					return nil, fmt.Errorf("%s: its sidecar does not listen to KV events", v.name)
				}
			}
		}
	}
	return e, nil
}

func (e *engines) close() {
	for _, publishers := range e.publishers {
		for _, p := range publishers {
			p.Close()
		}
	}
}

// compute has a server store what is new of a prompt: the server that its conversation is with.
func (e *engines) compute(ctx context.Context, v *variant, body []byte, number int) error {
	if v.precise == "" {
		return nil
	}
	prompt, err := tokens.Read(tokens.APIChat, body)
	if err != nil {
		return err
	}
	encoded, err := e.pool.Tokens(ctx, prompt)
	if err != nil {
		return err
	}
	keys := kvindex.Keys(nil, kvindex.Root("", preciseModel), preciseBlock, &kvindex.Prompt{Tokens: encoded.Tokens})
	first := 0
	for first < len(keys) && e.stored[v][keys[first]] {
		first++
	}
	if first == len(keys) {
		return nil
	}
	event := kvpub.Event{Kind: "BlockStored", BlockTokens: preciseBlock,
		Tokens: encoded.Tokens[first*preciseBlock : len(keys)*preciseBlock]}
	if first > 0 {
		parent := uint64(keys[first-1])
		event.Parent = &parent
	}
	for _, key := range keys[first:] {
		event.Hashes = append(event.Hashes, uint64(key))
		e.stored[v][key] = true
	}
	server := number % conversations % preciseServers
	e.publishers[v][server].Publish(kvpub.AppendBatch(nil, kvpub.Maps, float64(time.Now().UnixNano())/1e9, 0,
		[]kvpub.Event{event}))
	return nil
}
