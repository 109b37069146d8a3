// Package precise reads the parameters of the plug-ins that go by what model servers really have in their KV caches.
package precise

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/address"
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// Read reads the parameters of an index.
func Read(b *scoring.Builder) *scoring.PreciseIndex {
	x := &scoring.PreciseIndex{
		At: b.Name, BlockTokens: 16, SpeculativeTTL: 2 * time.Second,
		Keys: scoring.PreciseKeys{Keys: 1e8},
		Tiers: []scoring.PreciseTier{{Name: "gpu", Weight: usualWeight("gpu")},
			{Name: "cpu", Weight: usualWeight("cpu")}},
	}
	readTokenProcessor(b, b.Object.Object("tokenProcessorConfig"), x)
	indexer := b.Object.Object("indexerConfig")
	readFormer(b, indexer, x)
	keys := indexer.Object("kvBlockIndexConfig")
	noEffect(b, keys, "kvBlockIndexConfig.maxPrefixBlocksToMatch", "all blocks of a prompt count")
	readKeys(b, keys, &x.Keys)
	readTiers(indexer, x)
	pool := indexer.Object("tokenizersPoolConfig")
	noEffect(b, pool, "tokenizersPoolConfig.minPrefixOverlapRatio", kept)
	readPool(b, pool, x)
	indexer.Close()
	x.Events = readEvents(b, b.Object.Object("kvEventsConfig"))
	b.Bool("speculativeIndexing", &x.Speculative)
	b.Duration("speculativeTTL", &x.SpeculativeTTL, time.Millisecond)
	if b.Has("speculativeTTL") && !x.Speculative {
		b.Warn("speculativeTTL has no effect without speculativeIndexing")
	}
	const inline, background = "inline", "background"
	mode := inline
	b.OneOf("mode", &mode, inline, background)
	if x.Background = mode == background; x.Background && x.Speculative {
		b.Warn("speculativeIndexing has no effect with mode background: what is sent to a server counts there at once")
		x.Speculative = false
	}
	if x.Background && x.Keys.Remote != "" {
		b.Mistake("mode", strconv.Quote(mode)+" needs an index in memory, as it goes by the events that one sidecar "+
			"hears; leave redisConfig or valkeyConfig out of kvBlockIndexConfig")
	}
	return x
}

// readFormer reads what stands in indexerConfig in older documents.
func readFormer(b *scoring.Builder, indexer *strictjson.Object, x *scoring.PreciseIndex) {
	const processor, speculative = "tokenProcessorConfig", "speculativeIndexing"
	beside := func(key string) bool {
		if !indexer.Has(key) {
			return false
		}
		if b.Has(key) {
			indexer.Mistake(key, "stands beside indexerConfig, too; give it there alone")
		} else {
			b.Warn("indexerConfig." + key + " counts as if it stood beside indexerConfig; write it there")
		}
		return true
	}
	if beside(processor) {
		readTokenProcessor(b, indexer.Object(processor), x)
	}
	if beside(speculative) {
		indexer.Bool(speculative, &x.Speculative)
	}
	noEffect(b, indexer, "prefixStoreConfig", kept)
}

const kept = "which tokens are kept of prompts that were seen is not to be set"

// noEffect tells the operator of a key that o, which stands in indexerConfig, may have in older documents.
func noEffect(b *scoring.Builder, o *strictjson.Object, path, why string) {
	if o.Drop(path[strings.LastIndexByte(path, '.')+1:]) {
		b.Warn("indexerConfig." + path + " has no effect: " + why)
	}
}

func readTokenProcessor(b *scoring.Builder, o *strictjson.Object, x *scoring.PreciseIndex) {
	const most = 1 << 16
	o.Int("blockSize", &x.BlockTokens, 1, most)
	o.Int("blockSizeTokens", &x.BlockTokens, 1, most)
	o.String("hashSeed", &x.HashSeed)
	const keys = "cbor-fnv"
	algorithm := keys
	o.OneOf("hashAlgorithm", &algorithm, keys, "xxh64")
	if algorithm != keys {
		b.Warn("tokenProcessorConfig.hashAlgorithm has no effect: the keys are " + keys + "'s, which changes no score")
	}
	o.Close()
}

// backends are where an index can be kept.
var backends = []string{"inMemoryConfig", "costAwareMemoryConfig", "redisConfig", "valkeyConfig"}

func readKeys(b *scoring.Builder, o *strictjson.Object, k *scoring.PreciseKeys) {
	memory, cost := o.Object(backends[0]), o.Object(backends[1])
	memory.Int("size", &k.Keys, 1, math.MaxInt32)
	if memory.Int("podCacheSize", &k.Holders, 1, math.MaxInt32); memory.Has("podCacheSize") {
		b.Warn("indexerConfig.kvBlockIndexConfig.inMemoryConfig.podCacheSize has no effect: a block forgets none of " +
			"its holders")
	}
	memory.Close()
	size := "2GiB"
	cost.String("size", &size)
	cost.Close()
	if cost.Present() {
		n, ok := bytes(size)
		if !ok {
			cost.Mistake("size", strconv.Quote(size)+" is no size; one such as 2GiB or 500MiB is right")
		}
		k.CostAwareBytes = n
	}
	readRemote(o.Object(backends[2]), k, false)
	readRemote(o.Object(backends[3]), k, true)
	o.Bool("enableMetrics", &k.Metrics)
	readInterval(o, "metricsLoggingInterval", &k.LogEvery)
	o.Close()
	first := ""
	for _, key := range backends {
		switch {
		case !o.Has(key):
		case first != "":
			o.Mistake(key, "stands beside "+first+"; exactly one is right")
		default:
			first = key
		}
	}
}

func readRemote(o *strictjson.Object, k *scoring.PreciseKeys, valkey bool) {
	at, kind, rdma := "redis://127.0.0.1:6379", "redis", false
	if valkey {
		at, kind = "valkey://127.0.0.1:6379", "valkey"
	}
	o.String("address", &at)
	o.OneOf("backendType", &kind, "redis", "valkey")
	o.Bool("enableRDMA", &rdma)
	o.Close()
	if !o.Present() {
		return
	}
	if rdma {
		o.Mistake("enableRDMA", "is known, but not here; leave it out, and TCP is used")
	}
	if !strings.Contains(at, "://") {
		at = kind + "://" + at
	}
	address.CheckRedis(o, "address", at)
	k.Remote = at
}

// readInterval reads a duration as the documents of several projects write it: as text, or as a number of nanoseconds.
func readInterval(o *strictjson.Object, key string, to *time.Duration) {
	text := "0s"
	o.Scalar(key, &text)
	if n, whole := o.Whole(key); whole && n >= 0 {
		*to = time.Duration(n)
		return
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		o.Mistake(key, strconv.Quote(text)+" is no duration; one such as 10s, or a number of nanoseconds, is right")
		return
	}
	*to = d
}

func readTiers(o *strictjson.Object, x *scoring.PreciseIndex) {
	list := o.Objects("kvCacheBackendConfigs")
	if len(list) > 0 {
		x.Tiers = nil
	}
	for _, item := range list {
		t := scoring.PreciseTier{}
		item.String("name", &t.Name)
		t.Name = strings.ToLower(t.Name)
		t.Weight = usualWeight(t.Name)
		item.Float("weight", &t.Weight, 0, 1e6)
		item.Close()
		switch {
		case t.Name == "":
			item.Missing("name", "gpu, cpu and disk are right")
		case !slices.Contains(scoring.TierNames, t.Name):
			item.Mistake("name", strconv.Quote(t.Name)+" is not one of "+strings.Join(scoring.TierNames, ", "))
		case slices.ContainsFunc(x.Tiers, func(other scoring.PreciseTier) bool { return other.Name == t.Name }):
			item.Mistake("name", strconv.Quote(t.Name)+" is listed twice")
		}
		x.Tiers = append(x.Tiers, t)
	}
}

// usualWeight is what a block is worth that lies in a tier of whose weight the document says nothing.
func usualWeight(tier string) float64 {
	switch tier {
	case "cpu":
		return 0.8
	case "disk":
		return 0.5
	}
	return 1
}

func readEvents(b *scoring.Builder, o *strictjson.Object) scoring.PreciseEvents {
	e := scoring.PreciseEvents{Topic: "kv@", Workers: 4, Discover: true, Port: 5557}
	o.String("zmqEndpoint", &e.Listen)
	o.String("topicFilter", &e.Topic)
	o.Int("concurrency", &e.Workers, 1, 1024)
	engine := ""
	if o.OneOf("engineType", &engine, "vllm", "sglang"); engine != "" {
		b.Warn("kvEventsConfig.engineType has no effect: the events of both vLLM and SGLang are read")
	}
	o.Bool("discoverPods", &e.Discover)
	pods := o.Object("podDiscoveryConfig")
	if pods.Drop("podLabelSelector") {
		b.Warn("kvEventsConfig.podDiscoveryConfig.podLabelSelector has no effect: " +
			"all endpoints of the pool are listened to")
	}
	pods.String("podNamespace", &e.Namespace)
	pods.Int("socketPort", &e.Port, 1, 65535)
	pods.Int("replaySocketPort", &e.ReplayPort, 0, 65535)
	for _, key := range []string{"podNamespace", "socketPort"} {
		if !e.Discover && pods.Has(key) {
			b.Warn("kvEventsConfig.podDiscoveryConfig." + key + " has no effect with discoverPods false")
		}
	}
	pods.Close()
	o.Close()
	if _, _, ok := address.Endpoint(e.Listen); !ok && e.Listen != "" {
		o.Mistake("zmqEndpoint", strconv.Quote(e.Listen)+" is not of the form tcp://address:port")
	}
	if e.Listen == "" && !e.Discover {
		b.Warn("kvEventsConfig: nobody is listened to with discoverPods false and no zmqEndpoint; " +
			"no server counts as having anything")
	}
	return e
}

// bytes reads a size such as 2GiB.
func bytes(text string) (n int64, ok bool) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	n, err := strconv.ParseInt(text[:digits], 10, 64)
	if err != nil || n <= 0 {
		return 0, false
	}
	unit, ok := units[strings.TrimSpace(text[digits:])]
	if !ok || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

var units = map[string]int64{
	"": 1, "B": 1, "KiB": 1 << 10, "Ki": 1 << 10, "MiB": 1 << 20, "Mi": 1 << 20, "GiB": 1 << 30, "Gi": 1 << 30,
	"KB": 1e3, "MB": 1e6, "GB": 1e9,
}
