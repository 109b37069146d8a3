package scoring

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/address"
	"github.com/pintle-dev/pintle/scoring/internal/scratch"
)

// PreciseIndex says how the sidecar learns which blocks of prompts the servers have: from the events that they publish
// of their KV caches. What only a try can tell, such as whether a file is there, the sidecar says.
type PreciseIndex struct {
	// At is where the document says so, for mistakes.
	At string
	// BlockTokens is the size of the blocks of servers whose events have not told it. HashSeed makes the keys.
	BlockTokens int
	HashSeed    string
	Keys        PreciseKeys
	Tiers       []PreciseTier
	Tokens      TokenBackend
	Events      PreciseEvents
	// Speculative has the blocks of a prompt count for SpeculativeTTL where the request was sent.
	Speculative    bool
	SpeculativeTTL time.Duration
	// Background has no request wait: the sidecar learns of it afterwards, and tells of the servers in the journal.
	Background bool
}

// PreciseKeys is where the index is kept: in Remote, unless that is empty, in CostAwareBytes of memory, unless that is
// 0, else in memory for so many Keys with so many Holders each, where 0 is without a bound of its own.
type PreciseKeys struct {
	Keys, Holders  int
	CostAwareBytes int64
	// Remote is the URL of a Redis or Valkey.
	Remote string
	// Metrics has the index measured; every LogEvery, unless that is 0, its numbers are logged.
	Metrics  bool
	LogEvery time.Duration
}

// TierNames are the kinds of memory of a server in which engines say that a block is, the fastest first.
var TierNames = []string{"gpu", "cpu", "disk"}

// PreciseTier is what a block is worth that lies in one kind of memory of a server.
type PreciseTier struct {
	Name   string
	Weight float64
}

// PreciseEvents says how events come.
type PreciseEvents struct {
	// Listen is where servers connect to, such as tcp://*:5557; empty is nowhere.
	Listen string
	// Topic is how topics begin that are wanted.
	Topic string
	// Workers is how many read events at the same time.
	Workers int
	// Discover has every server asked for events at Port, and for those that were missed at ReplayPort, unless that is
	// 0. Namespace, unless it is empty, is the only one whose servers are asked.
	Discover         bool
	Namespace        string
	Port, ReplayPort int
}

// TokenBackend says who makes tokens of prompts.
type TokenBackend struct {
	// At is where the document says so, for mistakes.
	At   string
	Kind TokenKind
	// Model is the base model.
	Model string
	// Workers is how many prompts are made tokens of at the same time.
	Workers int
	// URL is a server that renders prompts, Timeout how long it may take, MediaTimeout with images.
	URL                   string
	Timeout, MediaTimeout time.Duration
	// Dir is searched for files called File; Files are the tokenizers of models. Name is the model whose tokenizer is
	// used in place of Model's.
	Dir, File string
	Files     []PreciseFile
	Name      string
	// Mode is the tokenizer's, Revision and Token are a download's.
	Mode, Revision, Token string
	// Socket is where a tokenizer service listens: a path or, with TCP, host:port.
	Socket string
	TCP    bool
}

// TokenizerModes are how tokenizers may be loaded. The first two are the same file, and no others are read here.
var TokenizerModes = []string{"auto", "hf", "slow", "mistral", "deepseek_v32"}

// Check calls wrong for each value that nobody could make tokens by, with its key.
func (t *TokenBackend) Check(wrong func(key, problem string)) {
	if (t.Kind == TokensLocal || t.Kind == TokensDownloaded) && t.Mode != "" &&
		!slices.Contains(TokenizerModes[:2], t.Mode) {
		wrong("tokenizerMode", strconv.Quote(t.Mode)+" is known, but not here; auto is right where there is a "+
			"tokenizer.json")
	}
	if t.Kind == TokensDownloaded {
		t.checkDownload(wrong)
	}
	path, mapped := t.Mapped()
	switch {
	case t.Kind != TokensLocal && t.Kind != TokensOfService || len(t.Files) == 0 || t.Tokenizer() == "":
	case !mapped:
		wrong("modelTokenizerMap", "has no "+strconv.Quote(t.Tokenizer()))
	case path == "":
		wrong("modelTokenizerMap", "has no path for "+strconv.Quote(t.Tokenizer()))
	}
	if _, port, ok := address.HostPort(t.Socket); t.Kind == TokensOfService && t.TCP && (!ok || port == 0) {
		wrong("socketFile", strconv.Quote(t.Socket)+" is no address; with useTCP one such as localhost:50051 is right")
	}
}

// checkDownload notes names that are none of the hub's, where they become parts of paths.
func (t *TokenBackend) checkDownload(wrong func(key, problem string)) {
	if name := t.Tokenizer(); name != "" && (!isHubName(name) || strings.Count(name, "/") > 1) {
		wrong("tokenizer", strconv.Quote(name)+" is no model's name such as org/name")
	}
	if t.Revision != "" && !isHubName(t.Revision) {
		wrong("tokenizerRevision", strconv.Quote(t.Revision)+" is no branch, tag or commit")
	}
}

// isHubName reports whether a text has letters, digits, hyphens, underscores and dots between its slashes, of which the
// dots do not come first.
func isHubName(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		for i := range len(part) {
			c := part[i]
			if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' ||
				c == '.' && i > 0) {
				return false
			}
		}
		if part == "" {
			return false
		}
	}
	return true
}

// Tokenizer is the model whose tokenizer is used.
func (t *TokenBackend) Tokenizer() string {
	if t.Kind == TokensOfService {
		return t.Model
	}
	return cmp.Or(t.Name, t.Model)
}

// Mapped returns the path that Files has for the tokenizer; ok is false for none.
func (t *TokenBackend) Mapped() (path string, ok bool) {
	for _, f := range t.Files {
		if f.Model == t.Tokenizer() {
			return f.Path, true
		}
	}
	return "", false
}

// PreciseFile is the tokenizer of a model.
type PreciseFile struct{ Model, Path string }

// TokenKind is a kind of TokenBackend.
type TokenKind uint8

// The kinds of token backends.
const (
	// TokensOfEngine asks the model servers themselves.
	TokensOfEngine TokenKind = iota
	// TokensRendered asks one server that renders prompts as they do.
	TokensRendered
	// TokensLocal goes by files.
	TokensLocal
	// TokensDownloaded goes by files of a hub.
	TokensDownloaded
	// TokensOfService asks a tokenizer service.
	TokensOfService
)

// PrecisePart is a plug-in that goes by what the servers really have. It takes part by being declared.
type PrecisePart interface{ PreciseIndex() *PreciseIndex }

// TokensPart is a plug-in that says who makes tokens of prompts, nil for nobody else.
type TokensPart interface{ TokenBackend() *TokenBackend }

// PreciseIndex says how the sidecar is to learn what the servers have, nil for not at all.
func (p *Plan) PreciseIndex() *PreciseIndex { return p.precise }

// addPrecise activates a plug-in that goes by what the servers have, and one that says who makes tokens.
func (c *compiler) addPrecise() {
	var tokens *TokenBackend
	for i := range c.plugins {
		d := &c.plugins[i]
		if part, ok := d.plugin.(TokensPart); ok && part.TokenBackend() != nil {
			switch {
			case !c.prepareData && c.defaults.Dialect != DialectLLMD:
				c.plan.warnings = append(c.plan.warnings, d.name+": is off, as "+gatePrepareData+
					" is not among the featureGates")
			case tokens != nil:
				c.plan.warnings = append(c.plan.warnings, d.name+": makes no tokens, as "+tokens.At+" does")
			default:
				tokens = part.TokenBackend()
			}
			continue
		}
		part, ok := d.plugin.(PrecisePart)
		switch {
		case !ok:
		case c.plan.precise != nil:
			c.plan.warnings = append(c.plan.warnings, d.name+": goes by the index of "+c.plan.precise.At+
				", as there is one index; its own parameters have no effect")
		default:
			c.plan.precise = part.PreciseIndex()
			c.plan.warnings = append(c.plan.warnings, d.name+": "+SidecarReads)
		}
	}
	switch {
	case tokens == nil:
	case c.plan.precise == nil:
		c.plan.warnings = append(c.plan.warnings, tokens.At+
			": no effect, as nothing goes by tokens; 4 bytes of text count as one")
	default:
		if c.plan.precise.Tokens.Kind != TokensOfEngine {
			c.plan.warnings = append(c.plan.warnings, c.plan.precise.At+
				": its tokenizersPoolConfig makes no tokens, as "+tokens.At+" does")
		}
		workers := c.plan.precise.Tokens.Workers
		c.plan.precise.Tokens = *tokens
		c.plan.precise.Tokens.Workers = workers
	}
}

// PreciseMatches is which servers have the beginning of a prompt, as the sidecar knows from their events.
type PreciseMatches struct {
	// Model is the one whose blocks were looked for.
	Model string
	// Tokens is how many the prompt has, Blocks how many whole blocks of BlockTokens.
	Tokens, Blocks, BlockTokens int
	// Holders have one block or more.
	Holders []PreciseHolder
	// Lookup is the number by which the sidecar wants to know where the request is sent; 0 is not at all.
	Lookup uint64
}

// Worth is what h has of the prompt by its tiers' weights, in blocks of BlockTokens, whatever the size of its own.
func (m *PreciseMatches) Worth(h PreciseHolder) float64 {
	alike := h.Blocks * m.BlockTokens
	if h.Tokens == alike || alike == 0 {
		return h.Score
	}
	return h.Score * float64(h.Tokens) / float64(alike)
}

// PreciseHolder has the first Blocks of a prompt, which are its own and may be of another size than others', with so
// many Tokens; Score is the sum of their tiers' weights.
type PreciseHolder struct {
	// ID is as Pool.ID has it.
	ID             uint64
	Blocks, Tokens int
	Score          float64
}

// Holder returns what an endpoint has, by its ID, zeros for nothing. It looks at all holders, see Cycle.Holder.
func (m *PreciseMatches) Holder(id uint64) PreciseHolder {
	for i := range m.Holders {
		if m.Holders[i].ID == id {
			return m.Holders[i]
		}
	}
	return PreciseHolder{}
}

// Holder returns what e has of the request's prompt, zeros for nothing. m is what the sidecar said of it.
func (c *Cycle) Holder(m *PreciseMatches, e *Endpoint) PreciseHolder {
	if !c.held {
		c.findHolders(m)
	}
	if uint(e.StateIndex) >= uint(len(c.holders)) || c.holders[e.StateIndex] == 0 {
		return PreciseHolder{}
	}
	return m.Holders[c.holders[e.StateIndex]-1]
}

// findHolders finds which endpoints the holders are, for the rest of the decision.
func (c *Cycle) findHolders(m *PreciseMatches) {
	endpoints := &c.Pool.State.Endpoints
	c.holders = scratch.Resize(c.holders, endpoints.Len())
	clear(c.holders)
	for i := range m.Holders {
		if at := endpoints.Index(m.Holders[i].ID); at >= 0 && c.holders[at] == 0 {
			c.holders[at] = int32(i + 1)
		}
	}
	c.held = true
}

// Precise returns what the sidecar said of the request's prompt, nil when it did not, or not for the model that the
// request is for by now.
func (c *Cycle) Precise() *PreciseMatches {
	m := c.Request.Precise
	if m == nil || m.Model != c.Request.Model || c.Pool.State == nil {
		return nil
	}
	return m
}
