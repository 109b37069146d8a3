package kvindex

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// Config is what precise-prefix-cache-scorer says of the index. Errors name its keys.
type Config struct {
	// BlockTokens is tokenProcessorConfig.blockSize: the size of a block of endpoints that have not told theirs yet.
	// Events say theirs, which counts. Default 16.
	BlockTokens int
	// Seed is tokenProcessorConfig.hashSeed.
	Seed string
	// Model is indexerConfig.tokenizersPoolConfig.modelName: the base model of publishers whose topic names none.
	Model string

	// One of these at most is there; InMemory is the default.
	InMemory  *InMemoryConfig
	CostAware *CostAwareConfig
	Redis     *RedisConfig

	// Weights are kvCacheBackendConfigs. Default DefaultWeights.
	Weights *Weights

	// Log is told what becomes of a shared index; nil is nobody.
	Log *slog.Logger

	// SpeculativeTTL is for how long Expect holds, zero without speculativeIndexing.
	SpeculativeTTL time.Duration
}

// InMemoryConfig is inMemoryConfig.
type InMemoryConfig struct {
	// Size is the largest number of keys. Default 1e8.
	Size int
	// PodCacheSize is read for the sake of configurations that have it. A key forgets none of its holders, however many
	// they are.
	PodCacheSize int
}

// CostAwareConfig is costAwareMemoryConfig.
type CostAwareConfig struct {
	// Bytes is size, the memory that the index may take. Default 2 GiB.
	Bytes int64
}

// RedisConfig is redisConfig or valkeyConfig.
type RedisConfig struct {
	// Address is a URL such as redis://127.0.0.1:6379 or valkey://host:6379/1, rediss:// and valkeys:// for TLS.
	Address string
}

// Defaults of Config.
const (
	DefaultBlockTokens = 16
	DefaultSize        = 100_000_000
	DefaultBytes       = 2 << 30
)

func (c *Config) backend() (Index, error) {
	weights := DefaultWeights
	if c.Weights != nil {
		weights = *c.Weights
	}
	chosen := 0
	for _, there := range []bool{c.InMemory != nil, c.CostAware != nil, c.Redis != nil} {
		if there {
			chosen++
		}
	}
	if chosen > 1 {
		return nil, errors.New("kvBlockIndexConfig: has several backends; exactly one is right")
	}
	switch {
	case c.CostAware != nil:
		if c.CostAware.Bytes < 0 {
			return nil, fmt.Errorf("kvBlockIndexConfig.costAwareMemoryConfig.size: %d is no number of bytes; "+
				"one such as 2GiB is right", c.CostAware.Bytes)
		}
		m := newMemory(weights, math.MaxInt64, c.SpeculativeTTL)
		m.bytes = cmp.Or(c.CostAware.Bytes, DefaultBytes)
		return m, nil
	case c.Redis != nil:
		log := c.Log
		if log == nil {
			log = slog.New(slog.DiscardHandler)
		}
		r, err := newRemote(c.Redis, newMemory(weights, DefaultSize, c.SpeculativeTTL), log)
		if err != nil {
			return nil, fmt.Errorf("kvBlockIndexConfig.redisConfig.%w", err)
		}
		return r, nil
	}
	size := DefaultSize
	if c.InMemory != nil && c.InMemory.Size != 0 {
		size = c.InMemory.Size
	}
	if size < 1 {
		return nil, fmt.Errorf("kvBlockIndexConfig.inMemoryConfig.size: %d is no number of keys; 1 or more is right",
			size)
	}
	return newMemory(weights, int64(size), c.SpeculativeTTL), nil
}
