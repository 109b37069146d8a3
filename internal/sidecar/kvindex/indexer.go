package kvindex

import (
	"cmp"
	"context"
	"sync"
)

// Indexer answers what endpoints hold of a prompt. It knows which blocks each endpoint makes of tokens, and under which
// name a model's blocks are kept.
type Indexer struct {
	Index
	config Config

	mu    sync.RWMutex
	sizes map[string]int
	// names are those that blocks have been stored under: adapters, and base models, which are true.
	names map[string]bool
	bases int
	// aliases are names by which endpoints serve base models.
	aliases map[string]bool
	pool    sync.Pool
}

const (
	// maxNames bounds the names of models that events may bring, and again those that endpoints may say.
	maxNames = 4096
	// maxName bounds the bytes of each. Longer ones are nobody's aliases.
	maxName = 1024
)

// New opens the index that the configuration says. Its errors name the key.
func New(c Config) (*Indexer, error) {
	index, err := c.backend()
	if err != nil {
		return nil, err
	}
	c.BlockTokens = cmp.Or(c.BlockTokens, DefaultBlockTokens)
	x := &Indexer{Index: index, config: c, sizes: map[string]int{}, names: map[string]bool{},
		aliases: map[string]bool{}}
	x.pool.New = func() any { return &match{} }
	return x, nil
}

// Model is the base model by the configuration, empty where that names none.
func (x *Indexer) Model() string { return x.config.Model }

// Root returns the key that the blocks of a publisher begin with: those of an adapter when lora names one, else those
// of the base model, which the topic may name.
func (x *Indexer) Root(lora, base string) Key {
	name, isBase := lora, lora == ""
	if isBase {
		name = cmp.Or(base, x.config.Model)
	}
	x.mu.RLock()
	_, known := x.names[name]
	x.mu.RUnlock()
	if !known {
		x.mu.Lock()
		if _, known = x.names[name]; !known && len(x.names) < maxNames && len(name) <= maxName {
			x.names[name] = isBase
			if isBase {
				x.bases++
			}
		}
		x.mu.Unlock()
	}
	return Root(x.config.Seed, name)
}

// Serves takes it that an endpoint serves a base model by these names.
func (x *Indexer) Serves(names []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range names {
		if len(x.aliases) < maxNames && len(name) <= maxName {
			x.aliases[name] = true
		}
	}
}

// name is what blocks for a request's model are stored under: its own name, unless that is only another name for the
// base model by what endpoints say, or for an adapter.
func (x *Indexer) name(model string) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if _, known := x.names[model]; known {
		return model
	}
	if !x.aliases[model] {
		return x.adapter(model)
	}
	if x.bases == 1 && !x.names[x.config.Model] {
		for name, isBase := range x.names {
			if isBase {
				return name
			}
		}
	}
	return x.config.Model
}

// adapter is the name of an adapter that SGLang is asked for as BASE:ADAPTER; any other name is its own. The caller has
// locked x.
func (x *Indexer) adapter(model string) string {
	for i := range len(model) {
		if model[i] != ':' || !x.aliases[model[:i]] {
			continue
		}
		if isBase, known := x.names[model[i+1:]]; known && !isBase {
			return model[i+1:]
		}
	}
	return model
}

// SetBlockTokens says how many tokens a block of the endpoint has.
func (x *Indexer) SetBlockTokens(endpoint string, tokens int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sizes[endpoint] = tokens
}

// BlockTokens returns how many tokens a block of the endpoint has, as far as is known.
func (x *Indexer) BlockTokens(endpoint string) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return cmp.Or(x.sizes[endpoint], x.config.BlockTokens)
}

// Drop implements Index.
func (x *Indexer) Drop(ctx context.Context, endpoint string) error {
	x.mu.Lock()
	delete(x.sizes, endpoint)
	x.mu.Unlock()
	return x.Index.Drop(ctx, endpoint)
}

// match is one Match under way, kept for the next one.
type match struct {
	endpoints []string
	sizes     []int
	group     []string
	keys      []Key
}

// Match appends a hit to dst for each of the endpoints that holds a block at least of a prompt to a model.
func (x *Indexer) Match(ctx context.Context, dst []Hit, model string, p *Prompt, endpoints []string) ([]Hit, error) {
	m := x.pool.Get().(*match)
	defer x.pool.Put(m)
	m.endpoints, m.sizes = append(m.endpoints[:0], endpoints...), m.sizes[:0]
	for _, name := range endpoints {
		m.sizes = append(m.sizes, x.BlockTokens(name))
	}
	root := Root(x.config.Seed, x.name(model))
	for i, size := range m.sizes {
		if size == 0 {
			continue
		}
		m.group = m.group[:0]
		for j := i; j < len(m.sizes); j++ {
			if m.sizes[j] == size {
				m.group, m.sizes[j] = append(m.group, m.endpoints[j]), 0
			}
		}
		m.keys = Keys(m.keys[:0], root, size, p)
		before := len(dst)
		var err error
		if dst, err = x.Lookup(ctx, dst, m.keys, m.group); err != nil {
			return dst, err
		}
		for j := before; j < len(dst); j++ {
			dst[j].Tokens = dst[j].Blocks * size
		}
	}
	return dst, nil
}

// Keys appends the keys of all full blocks of a prompt to a model that endpoints with so many tokens in a block have.
func (x *Indexer) Keys(dst []Key, model string, blockTokens int, p *Prompt) []Key {
	return Keys(dst, Root(x.config.Seed, x.name(model)), blockTokens, p)
}

// ExpectPrompt takes it for SpeculativeTTL that an endpoint has all full blocks of a prompt. It does nothing without.
func (x *Indexer) ExpectPrompt(ctx context.Context, endpoint, model string, p *Prompt) error {
	if x.config.SpeculativeTTL <= 0 {
		return nil
	}
	m := x.pool.Get().(*match)
	defer x.pool.Put(m)
	m.keys = Keys(m.keys[:0], Root(x.config.Seed, x.name(model)), x.BlockTokens(endpoint), p)
	return x.Expect(ctx, endpoint, m.keys)
}
