package stores

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/address"
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

const (
	day               = 24 * time.Hour
	mostEntryBytes    = 64 << 20
	entryBytesDefault = 1 << 20
	mostMongoBytes    = 15 << 20 // a document of MongoDB has 16 MiB at most
)

// ReadBackend reads where conversations are kept from an object under key; without it they are in memory.
func ReadBackend(parent *strictjson.Object, key string) scoring.StoreBackend {
	b := scoring.StoreBackend{
		Memory: scoring.StoreMemory{TTL: day, MaxEntries: 10_000, MaxEntryBytes: entryBytesDefault},
	}
	o := parent.Object(key)
	b.Stated = o.Present()
	memory, tiered := o.Object("inMemoryConfig"), o.Object("tieredConfig")
	o.Close()
	memory.Duration("ttl", &b.Memory.TTL, time.Second)
	memory.Int("maxEntries", &b.Memory.MaxEntries, 1, math.MaxInt32)
	memory.Int("maxEntryBytes", &b.Memory.MaxEntryBytes, 1, mostEntryBytes)
	memory.String("file", &b.Memory.File)
	memory.Close()
	if o.Present() && !memory.Present() && !tiered.Present() {
		o.Mistake("", "needs inMemoryConfig or tieredConfig")
	}
	t := readTiers(tiered)
	if tiered.Present() {
		b.Tiered = &t
	}
	return b
}

func readTiers(o *strictjson.Object) scoring.StoreTiers {
	t := scoring.StoreTiers{Redis: readRedis(o.Secret("redis")), Stream: readStream(o.Object("stream"))}
	mongo := o.Secret("mongo")
	m := readMongo(mongo)
	if mongo.Present() {
		t.Mongo = &m
		if t.Redis.MaxEntryBytes > mostMongoBytes {
			o.Mistake("redis.maxEntryBytes", strconv.Itoa(t.Redis.MaxEntryBytes)+
				" is too much for a document of MongoDB; at most "+strconv.Itoa(mostMongoBytes)+" is right")
		}
	}
	if o.Present() && !o.Has("redis") {
		o.Missing("redis", "the tiered store needs one")
	}
	o.Close()
	return t
}

func readRedis(o *strictjson.Object) scoring.StoreRedis {
	r := scoring.StoreRedis{TTL: day, MaxEntryBytes: entryBytesDefault}
	o.Duration("ttl", &r.TTL, time.Second)
	o.Int("maxEntryBytes", &r.MaxEntryBytes, 1, mostEntryBytes)
	ReadServers(o, &r)
	return r
}

// ReadServers reads which Redis or Valkey to connect to, and how, and closes o.
func ReadServers(o *strictjson.Object, r *scoring.StoreRedis) {
	o.String("address", &r.Address)
	o.Strings("addresses", &r.Addresses)
	o.String("masterName", &r.MasterName)
	o.String("username", &r.Username)
	o.String("password", &r.Password)
	o.Int("db", &r.DB, 0, 1<<16)
	o.Close()
	if !o.Present() {
		return
	}
	for i, text := range r.Addresses {
		if host, port, ok := address.HostPort(text); !ok || host == "" || port == 0 {
			shown := strictjson.Quote(text)
			if strings.ContainsAny(text, "@/") {
				shown = address.Shown(text)
			}
			o.Mistake("addresses["+strconv.Itoa(i)+"]", shown+" is not host:port")
		}
	}
	if r.Address != "" {
		address.CheckRedis(o, "address", r.Address)
	}
	switch {
	case r.Address == "" && len(r.Addresses) == 0:
		o.Missing("address", "give address, or addresses for Sentinel and Cluster")
	case r.Address != "" && len(r.Addresses) > 0:
		o.Mistake("addresses", "stands beside address; it is one or the other")
	case r.Address != "" && r.MasterName != "":
		o.Mistake("masterName", strictjson.Quote(r.MasterName)+" needs addresses, those of the Sentinels")
	case len(r.Addresses) > 1 && r.MasterName == "" && r.DB != 0:
		o.Mistake("db", strconv.Itoa(r.DB)+" is not possible in a Cluster, which has only 0")
	}
}

func readMongo(o *strictjson.Object) scoring.StoreMongo {
	m := scoring.StoreMongo{
		Database: "heimdall", Collection: "responses", TTL: 30 * day, Timeout: 500 * time.Millisecond,
	}
	o.String("uri", &m.URI)
	o.String("database", &m.Database)
	o.String("collection", &m.Collection)
	o.Duration("ttl", &m.TTL, time.Second)
	o.Duration("timeout", &m.Timeout, time.Millisecond)
	o.Close()
	if m.URI != "" {
		address.CheckMongo(o, "uri", m.URI)
	}
	switch {
	case !o.Present():
	case m.URI == "":
		o.Missing("uri", "a URI such as mongodb://host:27017 is right")
	case m.Database == "":
		o.Missing("database", "name one, or leave it out")
	case m.Collection == "":
		o.Missing("collection", "name one, or leave it out")
	}
	return m
}

func readStream(o *strictjson.Object) scoring.StoreStream {
	s := scoring.StoreStream{
		Key: "heimdall:responses:mongo_sync", Group: "mongo-sync", MaxLen: 1_000_000, BatchSize: 100,
		BlockTimeout: time.Second, ClaimAge: 30 * time.Second,
	}
	o.String("key", &s.Key)
	o.String("consumerGroup", &s.Group)
	o.Int64("maxLen", &s.MaxLen, 1, math.MaxInt64)
	o.Int("batchSize", &s.BatchSize, 1, 10_000)
	o.Duration("blockTimeout", &s.BlockTimeout, time.Millisecond)
	o.Duration("claimAge", &s.ClaimAge, time.Millisecond)
	o.Close()
	if o.Present() && (s.Key == "" || s.Group == "") {
		o.Mistake("", "key and consumerGroup must not be empty")
	}
	return s
}
