package sim

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Config describes one simulated server. Zero fields take the default that is named beside them. Errors name fields as
// the flags of pintle sim are called.
type Config struct {
	// Name is sent as x-sim-server in every response. Default "sim".
	Name string
	// Address is sent as x-sim-address. Default: the local address of the connection.
	Address string
	// Role is sent as x-sim-role when it is not empty.
	Role string
	// Models are the names that the server answers to; the first one labels the metrics. Default "sim-model".
	Models []string
	// Adapters are LoRA adapters, which are served as models too. They may not repeat a name of Models.
	Adapters []string
	// MaxAdapters is how many different adapters may run at once. Default 4. Used only with Adapters.
	MaxAdapters int
	// AdapterLoad is for how long the server processes no prompt while it loads an adapter in the place of the one that
	// was used longest ago. Default none.
	AdapterLoad time.Duration
	// MaxRunning is the number of batch slots (vLLM's max-num-seqs). Default 32.
	MaxRunning int
	// BlockTokens is the size of one KV-cache block in tokens. Default 16.
	BlockTokens int
	// Blocks is the size of the KV cache in blocks. Default 8192.
	// Blocks*BlockTokens also bounds one request: prompt and answer together.
	Blocks int
	// OffloadBlocks is how many blocks that were evicted are kept in the CPU's memory. Default none.
	OffloadBlocks int
	// Ranks is the number of data-parallel ranks (vLLM's data-parallel-size). Each has a KV cache of its own, of Blocks
	// and OffloadBlocks; batch slots and speed are of all together. Default 1.
	Ranks int
	// PrefillTokensPerSecond is how fast uncached prompt tokens are processed, for the whole server. Default 8000.
	PrefillTokensPerSecond float64
	// TimePerOutputToken is the pace of one request that runs alone. Default 20ms; negative means no time at all.
	TimePerOutputToken time.Duration
	// BatchSlowdown is the part of TimePerOutputToken that each further running request adds. Default 0.01; negative
	// means none.
	BatchSlowdown float64
	// OutputTokens is the length of an answer when the request names no limit. Default 128.
	OutputTokens int
	// StreamInterval is how many tokens share one streamed chunk after the first one (vLLM's stream-interval). Default
	// 1.
	StreamInterval int
	// Speed divides every simulated duration: 10 is ten times as fast. Default 1.
	Speed float64
	// MetricsPadding adds about so many kilobytes of other families to /metrics. Default 0.
	MetricsPadding int
	// MaxBodyBytes bounds request bodies. Default 64 MiB.
	MaxBodyBytes int64
	// Instant answers every API request at once with one small fixed body: no queue, no cache, no record, only a count.
	Instant bool
	// Seed chooses the words of the answers.
	Seed uint64
}

// maxRanks bounds the ranks of a server.
const maxRanks = 256

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "sim"
	}
	if len(c.Models) == 0 {
		c.Models = []string{"sim-model"}
	}
	c.MaxAdapters = cmp.Or(c.MaxAdapters, 4)
	c.MaxRunning = cmp.Or(c.MaxRunning, 32)
	c.BlockTokens = cmp.Or(c.BlockTokens, 16)
	c.Blocks = cmp.Or(c.Blocks, 8192)
	c.Ranks = cmp.Or(c.Ranks, 1)
	c.PrefillTokensPerSecond = cmp.Or(c.PrefillTokensPerSecond, 8000)
	c.TimePerOutputToken = cmp.Or(c.TimePerOutputToken, 20*time.Millisecond)
	c.BatchSlowdown = cmp.Or(c.BatchSlowdown, 0.01)
	c.OutputTokens = cmp.Or(c.OutputTokens, 128)
	c.StreamInterval = cmp.Or(c.StreamInterval, 1)
	c.Speed = cmp.Or(c.Speed, 1)
	c.MaxBodyBytes = cmp.Or(c.MaxBodyBytes, 64<<20)
	return c
}

func (c Config) validate() error {
	for _, limit := range []struct {
		name     string
		got, max int
	}{
		{"max-lora", c.MaxAdapters, 1 << 16},
		{"max-num-seqs", c.MaxRunning, 1 << 20},
		{"block-size", c.BlockTokens, 1 << 16},
		{"num-blocks", c.Blocks, 1 << 24},
		{"data-parallel-size", c.Ranks, maxRanks},
		{"output-tokens", c.OutputTokens, 1 << 24},
		{"stream-interval", c.StreamInterval, 1 << 20},
	} {
		if limit.got < 1 || limit.got > limit.max {
			return fmt.Errorf("%s %d: want 1 to %d", limit.name, limit.got, limit.max)
		}
	}
	if !positive(c.PrefillTokensPerSecond) {
		return fmt.Errorf("prefill-tokens-per-second %v: want a number above 0", c.PrefillTokensPerSecond)
	}
	if !positive(c.Speed) {
		return fmt.Errorf("speed %v: want a number above 0", c.Speed)
	}
	if c.OffloadBlocks < 0 || c.OffloadBlocks > 1<<24 {
		return fmt.Errorf("offload-blocks %d: want 0 to %d", c.OffloadBlocks, 1<<24)
	}
	if c.AdapterLoad < 0 {
		return fmt.Errorf("lora-load %v: want 0s or more", c.AdapterLoad)
	}
	if c.MetricsPadding < 0 || c.MetricsPadding > 16<<10 {
		return fmt.Errorf("metrics-padding %d: want 0 to 16384 kilobytes", c.MetricsPadding)
	}
	if c.MaxBodyBytes < 1 {
		return fmt.Errorf("max-body-bytes %d: want 1 or more", c.MaxBodyBytes)
	}
	if math.IsNaN(c.BatchSlowdown) || math.IsInf(c.BatchSlowdown, 0) {
		return fmt.Errorf("batch-slowdown %v: want a finite number", c.BatchSlowdown)
	}
	return c.validateNames()
}

func (c Config) validateNames() error {
	for _, field := range []struct{ name, value string }{{"name", c.Name}, {"address", c.Address}, {"role", c.Role}} {
		if strings.ContainsFunc(field.value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Errorf("%s %q: want printable ASCII", field.name, field.value)
		}
	}
	seen := map[string]bool{}
	for _, name := range append(append([]string{}, c.Models...), c.Adapters...) {
		if name == "" {
			return fmt.Errorf("model %q: want a name", name)
		}
		if seen[name] {
			return fmt.Errorf("model %q: given twice among models and adapters", name)
		}
		seen[name] = true
	}
	return nil
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

// prefillTime is how long uncached prompt tokens take when they have the server's prefill to themselves.
func (c Config) prefillTime(tokens int) time.Duration {
	return time.Duration(float64(tokens) / c.PrefillTokensPerSecond / c.Speed * float64(time.Second))
}

// loadTime is how long it takes to load an adapter.
func (c Config) loadTime() time.Duration { return time.Duration(float64(c.AdapterLoad) / c.Speed) }

// decodeTime is how long a request waits for so many further tokens beside running-1 other requests.
func (c Config) decodeTime(tokens, running int) time.Duration {
	if c.TimePerOutputToken < 0 {
		return 0
	}
	slowdown := 1 + max(c.BatchSlowdown, 0)*float64(max(running-1, 0))
	return time.Duration(float64(tokens) * float64(c.TimePerOutputToken) * slowdown / c.Speed)
}

// maxTokens bounds prompt and answer of one request together.
func (c Config) maxTokens() int { return c.Blocks * c.BlockTokens }
