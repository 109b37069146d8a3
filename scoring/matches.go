package scoring

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
	"github.com/pintle-dev/pintle/state"
)

// PrefixProducer is a plug-in that finds out which part of the prompt each endpoint has in its cache. It takes part by
// being declared; producers run once for each decision, in the order of declaration, before any profile.
type PrefixProducer interface {
	// MatchKey is what Builder.Produces gave it.
	MatchKey() MatchKey
	// Produce fills m, in which nothing matches yet.
	Produce(c *Cycle, m *PrefixMatches)
}

// MatchKey names a producer of prefix matches.
type MatchKey int

// FirstPrefixMatches names the first producer of all that says which prompts are in caches, as one of media and a
// PlacementProducer do not; none where there is no such.
const FirstPrefixMatches MatchKey = -1

// PrefixMatches is what a producer found.
type PrefixMatches struct {
	// Blocks is how many blocks the prompt has, BlockTokens how many tokens a block.
	Blocks, BlockTokens int

	matched []int32 // by Endpoint.Index
	cached  []int32 // tokens by Endpoint.Index, empty where they are those of matched
}

// Matched is how many of the prompt's leading blocks e has.
func (m *PrefixMatches) Matched(e *Endpoint) int {
	if e.Index >= len(m.matched) {
		return 0
	}
	return int(m.matched[e.Index])
}

// Set says how many of the prompt's leading blocks e has.
func (m *PrefixMatches) Set(e *Endpoint, blocks int) { m.matched[e.Index] = int32(blocks) }

// CachedTokens is how many tokens of the prompt e has: those of the matched blocks unless SetCachedTokens said more.
func (m *PrefixMatches) CachedTokens(e *Endpoint) int {
	tokens := m.Matched(e) * m.BlockTokens
	if e.Index < len(m.cached) {
		tokens = max(tokens, int(m.cached[e.Index]))
	}
	return tokens
}

// SetCachedTokens says how many tokens e has, for a producer whose blocks are not all worth one.
func (m *PrefixMatches) SetCachedTokens(e *Endpoint, tokens int) {
	if len(m.cached) == 0 {
		m.cached = scratch.Resize(m.cached, len(m.matched))
		clear(m.cached)
	}
	m.cached[e.Index] = int32(min(tokens, math.MaxInt32))
}

// Produces makes a plug-in one of the producers of prefix matches.
func (b *Builder) Produces(p PrefixProducer) MatchKey {
	b.compiler.plan.producers = append(b.compiler.plan.producers, p)
	return MatchKey(len(b.compiler.plan.producers) - 1)
}

// The parameter that names a producer of prefix matches, and the one that is added where none is named and none of this
// name is declared.
const (
	matchParameter  = "prefixMatchInfoProducerName"
	defaultProducer = "approx-prefix-cache-producer"
)

// MovePrefixParameters makes a producer of prefix matches of the parameters that stood at the scorer before llm-d's
// router 0.10, where the document has no such producer. Elsewhere they stay where they are.
func (b *Builder) MovePrefixParameters() {
	if b.Has(matchParameter) || b.Declared(defaultProducer) || b.DeclaredType(defaultProducer) ||
		b.compiler.find(defaultProducer) != nil {
		return
	}
	text, moved := "", []string(nil)
	for _, key := range MovedParameters {
		if !b.Has(key) {
			continue
		}
		name := key
		if key == "hashBlockSize" {
			name = "blockSize"
		}
		if slices.Contains(moved, name) {
			b.NoEffect(key, name+" is given, too")
			continue
		}
		text += "," + strconv.Quote(name) + ":" + b.Raw(key)
		if key == "maxPrefixBlocksToMatch" {
			text += `,"maxPrefixTokensToMatch":0`
		}
		moved = append(moved, key)
		b.Drop(key)
	}
	if len(moved) == 0 {
		return
	}
	b.Warn(strings.Join(moved, ", ") + ": stands at an approx-prefix-cache-producer in llm-d's dialect; one with " +
		"these parameters is used")
	b.compiler.build(b.Object, strictjson.FromText(b.Object, "{"+text[1:]+"}"), defaultProducer, defaultProducer)
}

// PrefixMatches reads the parameter prefixMatchInfoProducerName and returns the producer that it names.
func (b *Builder) PrefixMatches() MatchKey {
	name := ""
	b.String(matchParameter, &name)
	name = b.orUsual(name, defaultProducer)
	plugin := b.Plugin(name)
	producer, ok := plugin.(PrefixProducer)
	switch {
	case ok:
		return producer.MatchKey()
	case b.Doubtful(name):
	case plugin == nil:
		b.Mistake(matchParameter, b.NotDeclared(name))
	default:
		b.Mistake(matchParameter, strconv.Quote(name)+" is not a producer of prefix matches")
	}
	return 0
}

// UsualPrefixMatches is PrefixMatches for plug-ins that go by what scorers go by: where the parameter is not given and
// only named producers are declared, it is the first one of these.
func (b *Builder) UsualPrefixMatches() MatchKey {
	c := b.compiler
	if b.Has(matchParameter) || b.Declared(defaultProducer) {
		return b.PrefixMatches()
	}
	if i := slices.Index(c.declaredTypes, defaultProducer); i >= 0 {
		if producer, ok := b.Plugin(c.declaredNames[i]).(PrefixProducer); ok {
			name := ""
			b.String(matchParameter, &name)
			return producer.MatchKey()
		}
	}
	return b.PrefixMatches()
}

// MediaProducer is a plug-in that finds out which media of the prompt each endpoint has.
type MediaProducer interface {
	// MediaKey is what Builder.Produces gave it.
	MediaKey() MatchKey
}

// PlacementProducer is a PrefixProducer whose matches say where a prompt shall go, whatever is in the caches there.
type PlacementProducer interface{ PlacesPrompts() }

// mediaProducer is the one that is added where none is named and none of this name is declared.
const mediaProducer = "mm-embeddings-cache-producer"

// findFirstMatches finds what FirstPrefixMatches stands for.
func (c *compiler) findFirstMatches() {
	c.plan.firstMatches = MatchKey(slices.IndexFunc(c.plan.producers, func(p PrefixProducer) bool {
		return !is[MediaProducer](p) && !is[PlacementProducer](p)
	}))
}

// MediaMatches returns the producer of media matches that the parameter key names.
func (b *Builder) MediaMatches(key, name string) MatchKey {
	name = b.orUsual(name, mediaProducer)
	plugin := b.Plugin(name)
	producer, ok := plugin.(MediaProducer)
	switch {
	case ok:
		return producer.MediaKey()
	case b.Doubtful(name):
	case plugin == nil:
		b.Mistake(key, b.NotDeclared(name))
	default:
		b.Mistake(key, strconv.Quote(name)+" is not a producer of media matches")
	}
	return 0
}

// PrefixMatches returns what a producer found for the request.
func (c *Cycle) PrefixMatches(key MatchKey) *PrefixMatches {
	if key == FirstPrefixMatches {
		key = c.plan.firstMatches
	}
	if uint(key) >= uint(len(c.matches)) {
		return &noMatches
	}
	return &c.matches[key]
}

var noMatches PrefixMatches

// produce has every producer look at the request.
func (c *Cycle) produce() {
	c.matches = scratch.Resize(c.matches, len(c.plan.producers))
	for i, producer := range c.plan.producers {
		m := &c.matches[i]
		m.Blocks, m.BlockTokens, m.cached = 0, 0, m.cached[:0]
		m.matched = scratch.Resize(m.matched, len(c.Pool.Endpoints))
		clear(m.matched)
		if !c.Request.Unjudged && c.Request.HasPrompt() {
			producer.Produce(c, m)
		}
	}
}

// PromptIDBlocks returns the chained hashes of the prompts' first blocks, and how many they are at the end of each
// prompt; see state.Chain.IDs. Both are valid until the next decision.
func (c *Cycle) PromptIDBlocks(blockTokens, most int) (blocks []uint64, ends []int32) {
	p := c.promptChain(state.Chain{BlockBytes: blockTokens * state.BytesPerToken, IDs: true}, most)
	if p == nil {
		return nil, nil
	}
	if len(p.blocks) > most {
		return p.blocks[:most], p.ends
	}
	return p.blocks, p.ends
}
