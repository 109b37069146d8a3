package kvindex

import (
	"context"
	"errors"
)

// Publisher is who publishes events: one rank of an endpoint. What one rank holds is of no use to another.
type Publisher struct {
	// Endpoint is its name as the pool has it, namespace/name.
	Endpoint string
	Rank     int
}

// MaxRanks bounds the ranks of an endpoint: they are below it.
const MaxRanks = 256

// Tier is where an engine keeps a block.
type Tier uint8

// The tiers, from near to far. An engine may have a block in several of them.
const (
	GPU Tier = iota
	CPU
	Disk
	Tiers = 3
)

// Weights is what a block is worth by the tier that it is in.
type Weights [Tiers]float64

// DefaultWeights are llm-d's, with a disk below them.
var DefaultWeights = Weights{GPU: 1, CPU: 0.8, Disk: 0.5}

// Hit is what an endpoint holds of a prompt: the blocks at its head, without a gap.
type Hit struct {
	Endpoint string
	// Rank is the rank that holds most of it.
	Rank   int
	Blocks int
	// Tokens is Blocks times the size of a block.
	Tokens int
	// ByTier counts the blocks by the nearest tier that each is in.
	ByTier [Tiers]int
	// Score is the sum of the blocks' weights. A block that is only expected to be there has the weight of a GPU's.
	Score float64
}

// ErrUnknown says that the publisher has not told of a block by that hash.
var ErrUnknown = errors.New("no such block")

// Index is where it is kept who holds what. All methods may be called at once; events of one publisher come in order,
// from one goroutine. What memory holds is never refused: an error means that the backend is somewhere else and cannot
// be reached.
type Index interface {
	// Add takes it that the publisher has stored blocks in a tier. Hashes are the engine's names for them. A block that
	// is stored twice is there until it has been removed twice: engines have copies.
	Add(ctx context.Context, p Publisher, tier Tier, hashes []uint64, keys []Key) error
	// Key returns the key of a block that was added, else ErrUnknown.
	Key(ctx context.Context, p Publisher, hash uint64) (Key, error)
	// Evict takes it that the publisher has removed blocks from a tier. It returns how many of them were not known.
	Evict(ctx context.Context, p Publisher, tier Tier, hashes []uint64) (unknown int, err error)
	// Clear forgets all blocks of a publisher at once, but not the expected ones.
	Clear(ctx context.Context, p Publisher) error
	// Drop forgets all of an endpoint.
	Drop(ctx context.Context, endpoint string) error
	// Expect takes it for a time, which the configuration says, that an endpoint has blocks of which no event has told.
	Expect(ctx context.Context, endpoint string, keys []Key) error
	// Lookup appends a hit to dst for each of the endpoints that holds the first block at least.
	Lookup(ctx context.Context, dst []Hit, keys []Key, endpoints []string) ([]Hit, error)
	// OnFull has f told of each block that is forgotten because the index is full, with the publisher locked. It is
	// called before all else.
	OnFull(f func(endpoint string, key Key))
	// Stats says how much is in the index.
	Stats() Stats
	// Close has others forget what they know by way of this process.
	Close() error
}

// Stats is how much is in an index, as far as this process knows.
type Stats struct {
	// Keys are different blocks, Entries are pairs of a block and a publisher that holds it.
	Keys, Entries int64
	// Expected are pairs of a block and an endpoint that is expected to hold it.
	Expected int64
	// Evicted counts the entries that were forgotten because the index was full.
	Evicted uint64
}
