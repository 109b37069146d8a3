package stores_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/scoring"
)

// document is one with a responses-store.
func document(gate, parameters string) string {
	return `{"featureGates":[` + gate + `],"plugins":[{"type":"queue-scorer"},{"type":"responses-store","parameters":{` +
		parameters + `}}]}`
}

const gate = `"prepareDataPlugins"`

var inMemory = scoring.StoreMemory{TTL: 24 * time.Hour, MaxEntries: 10_000, MaxEntryBytes: 1 << 20}

func TestResponsesStore(t *testing.T) {
	tests := []struct {
		name, parameters string
		want             scoring.ResponsesStore
	}{
		{"defaults", ``, scoring.ResponsesStore{Backend: scoring.StoreBackend{Memory: inMemory}}},
		{"in memory", `"storeConfig":{"inMemoryConfig":{"ttl":"24h","maxEntries":10000,"maxEntryBytes":1048576}}`,
			scoring.ResponsesStore{Backend: scoring.StoreBackend{Stated: true, Memory: inMemory}}},
		{"tiered", `"storeConfig":{"tieredConfig":{"redis":{"address":"redis://redis.responses-store.svc:6379","ttl":"24h"},
			"mongo":{"uri":"mongodb://mongo.responses-store.svc:27017","database":"heimdall","collection":"responses",
			"ttl":"720h"},"stream":{"key":"heimdall:responses:mongo_sync","consumerGroup":"mongo-sync","batchSize":100,
			"blockTimeout":"1s","claimAge":"30s"}}}`,
			scoring.ResponsesStore{Backend: scoring.StoreBackend{Stated: true, Memory: inMemory,
				Tiered: &scoring.StoreTiers{
					Redis: scoring.StoreRedis{Address: "redis://redis.responses-store.svc:6379", TTL: 24 * time.Hour,
						MaxEntryBytes: 1 << 20},
					Mongo: &scoring.StoreMongo{URI: "mongodb://mongo.responses-store.svc:27017", Database: "heimdall",
						Collection: "responses", TTL: 720 * time.Hour, Timeout: 500 * time.Millisecond},
					Stream: scoring.StoreStream{Key: "heimdall:responses:mongo_sync", Group: "mongo-sync",
						MaxLen: 1_000_000, BatchSize: 100, BlockTimeout: time.Second, ClaimAge: 30 * time.Second},
				}}}},
		{"every parameter", `"storeConfig":{"inMemoryConfig":{"ttl":"1h","maxEntries":3,"maxEntryBytes":4,"file":"f"},
			"tieredConfig":{"redis":{"addresses":["a:1","b:2"],"masterName":"m","username":"u","password":"p","db":5,
			"ttl":"2h","maxEntryBytes":6},"mongo":{"uri":"mongodb+srv://h","database":"d","collection":"c","ttl":"3h",
			"timeout":"7ms"},"stream":{"key":"k","consumerGroup":"g","maxLen":5000000000,"batchSize":8,
			"blockTimeout":"9ms","claimAge":"10ms"}}}`,
			scoring.ResponsesStore{Backend: scoring.StoreBackend{Stated: true,
				Memory: scoring.StoreMemory{TTL: time.Hour, MaxEntries: 3, MaxEntryBytes: 4, File: "f"},
				Tiered: &scoring.StoreTiers{
					Redis: scoring.StoreRedis{Addresses: []string{"a:1", "b:2"}, MasterName: "m", Username: "u",
						Password: "p", DB: 5, TTL: 2 * time.Hour, MaxEntryBytes: 6},
					Mongo: &scoring.StoreMongo{URI: "mongodb+srv://h", Database: "d", Collection: "c",
						TTL: 3 * time.Hour, Timeout: 7 * time.Millisecond},
					Stream: scoring.StoreStream{Key: "k", Group: "g", MaxLen: 5_000_000_000, BatchSize: 8,
						BlockTimeout: 9 * time.Millisecond, ClaimAge: 10 * time.Millisecond},
				}}}},
		{"the least", `"storeConfig":{"inMemoryConfig":{"ttl":"1s","maxEntries":1,"maxEntryBytes":1},"tieredConfig":{
			"redis":{"addresses":["a:1","b:2"],"db":0,"ttl":"1s","maxEntryBytes":1},"stream":{"maxLen":1,"batchSize":1,
			"blockTimeout":"1ms","claimAge":"1ms"}}}`,
			scoring.ResponsesStore{Backend: scoring.StoreBackend{Stated: true,
				Memory: scoring.StoreMemory{TTL: time.Second, MaxEntries: 1, MaxEntryBytes: 1},
				Tiered: &scoring.StoreTiers{
					Redis: scoring.StoreRedis{Addresses: []string{"a:1", "b:2"}, TTL: time.Second, MaxEntryBytes: 1},
					Stream: scoring.StoreStream{Key: "heimdall:responses:mongo_sync", Group: "mongo-sync", MaxLen: 1,
						BatchSize: 1, BlockTimeout: time.Millisecond, ClaimAge: time.Millisecond},
				}}}},
		{"Redis alone", `"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h","maxEntryBytes":67108864,
			"db":65536}}}`,
			scoring.ResponsesStore{Backend: scoring.StoreBackend{Stated: true, Memory: inMemory,
				Tiered: &scoring.StoreTiers{
					Redis: scoring.StoreRedis{Address: "redis://h", TTL: 24 * time.Hour, MaxEntryBytes: 64 << 20,
						DB: 65536},
					Stream: scoring.StoreStream{Key: "heimdall:responses:mongo_sync", Group: "mongo-sync",
						MaxLen: 1_000_000, BatchSize: 100, BlockTimeout: time.Second, ClaimAge: 30 * time.Second},
				}}}},
		{"tenants", `"tenantHeader":"X-Team","keepPreviousResponseId":true`, scoring.ResponsesStore{HasTenant: true,
			TenantName: "x-team", KeepPreviousID: true, Backend: scoring.StoreBackend{Memory: inMemory}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := pluginconfig.Parse([]byte(document(gate, test.parameters)))
			if err != nil {
				t.Fatal(err)
			}
			got := c.Plan.ResponsesStore()
			told := c.Plan.Warnings()
			if got == nil || !strings.Contains(told[len(told)-1], "the sidecar has to") {
				t.Fatalf("got %v and %q, want a store and that the sidecar has to know of it", got, told)
			}
			if got.HasTenant && c.Plan.RequestHeaders()[got.Tenant] != "x-team" {
				t.Errorf("tenant: got header %q", c.Plan.RequestHeaders()[got.Tenant])
			}
			entry := got.Backend.Memory.MaxEntryBytes
			if got.Backend.Tiered != nil {
				entry = got.Backend.Tiered.Redis.MaxEntryBytes
			}
			if n := got.Backend.MaxEntryBytes(); n != entry {
				t.Errorf("an entry has %d bytes at most, want %d", n, entry)
			}
			test.want.Tenant = got.Tenant
			if !reflect.DeepEqual(*got, test.want) {
				t.Errorf("got  %+v\nwant %+v", *got, test.want)
			}
		})
	}
}

func TestGate(t *testing.T) {
	for gates, want := range map[string]string{
		``: "is off, as prepareDataPlugins is not among the featureGates", `"prepareDataPlugins=false"`: "is off",
		`"prepareDataPlugins=true"`: "",
	} {
		c, err := pluginconfig.Parse([]byte(document(gates, "")))
		if err != nil {
			t.Fatal(err)
		}
		warnings := strings.Join(c.Plan.Warnings(), "\n")
		if (c.Plan.ResponsesStore() == nil) != (want != "") || !strings.Contains(warnings, want) {
			t.Errorf("gates %s: got %v and %q, want %q", gates, c.Plan.ResponsesStore(), warnings, want)
		}
	}
}

// TestIdleStores: the operator is told of what has no effect beside what else the store has, or without it.
func TestIdleStores(t *testing.T) {
	const redis, mongo = `"redis":{"address":"redis://h"}`, `"mongo":{"uri":"mongodb://h"}`
	const memory = "responses-store: storeConfig.inMemoryConfig has no effect: conversations are kept as " +
		"tieredConfig says"
	const stream = "responses-store: storeConfig.tieredConfig.stream has no effect: nothing is brought to a MongoDB"
	for _, tc := range []struct {
		name, store string
		want        []string
	}{
		{"in memory", `"inMemoryConfig":{}`, nil},
		{"in tiers", `"tieredConfig":{` + redis + `}`, nil},
		{"in tiers of all kinds", `"tieredConfig":{` + redis + `,` + mongo + `,"stream":{}}`, nil},
		{"in both", `"inMemoryConfig":{},"tieredConfig":{` + redis + `}`, []string{memory}},
		{"a stream that leads nowhere", `"tieredConfig":{` + redis + `,"stream":{"batchSize":9}}`, []string{stream}},
		{"none", `"inMemoryConfig":{},"tieredConfig":null`, nil},
		{"a database of one server", `"tieredConfig":{"redis":{"addresses":["h:1"],"db":1}}`, nil},
		{"entries as large as may be", `"tieredConfig":{"redis":{"address":"redis://h","maxEntryBytes":15728640},` +
			mongo + `}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := pluginconfig.Parse([]byte(document(gate, `"storeConfig":{`+tc.store+`}`)))
			if err != nil {
				t.Fatal(err)
			}
			told := slices.DeleteFunc(slices.Clone(c.Plan.Warnings()), func(text string) bool {
				return strings.Contains(text, "the sidecar has to")
			})
			if !slices.Equal(told, tc.want) {
				t.Errorf("told %q, want %q", told, tc.want)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	const at = "plugins[1](responses-store).parameters."
	tests := []struct{ parameters, want string }{
		{`"storeConfig":{}`, at + "storeConfig: needs inMemoryConfig or tieredConfig"},
		{`"storeConfig":{"inMemoryConfig":{"ttl":24}}`, at + "storeConfig.inMemoryConfig.ttl: 24 is not a duration"},
		{`"storeConfig":{"inMemoryConfig":{"maxEntries":0}}`, "maxEntries: 0 is not a whole number"},
		{`"storeConfig":{"tieredConfig":{"mongo":{"uri":"mongodb://h"}}}`, "tieredConfig.redis: is missing"},
		{`"storeConfig":{"tieredConfig":{"redis":{}}}`, "redis.address: is missing"},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"h:6379"}}}`, `redis.address: "h:6379" is not a URL`},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h","addresses":["h:1"]}}}`, "one or the other"},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h","masterName":"m"}}}`, "needs addresses"},
		{`"storeConfig":{"tieredConfig":{"redis":{"addresses":["h:1","h:2"],"db":1}}}`, "is not possible in a Cluster"},
		{`"storeConfig":{"tieredConfig":{"redis":{"addresses":["h"]}}}`, "is not host:port"},
		{`"storeConfig":{"tieredConfig":{"redis":{"addresses":["h:0"]}}}`, `"h:0" is not host:port`},
		{`"storeConfig":{"tieredConfig":{"redis":{"addresses":["h:65536"]}}}`, `"h:65536" is not host:port`},
		{`"storeConfig":{"tieredConfig":{"redis":{"addresses":[":1"]}}}`, `":1" is not host:port`},
		{`"storeConfig":{"tieredConfig":{"redis":{"addresses":["redis://h:1"]}}}`, `"redis://h:1" is not host:port`},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"http://h"}}}`, `redis.address: "http://h" is not a URL`},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://"}}}`, `redis.address: "redis://" is not a URL`},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h:x"}}}`, `redis.address: "redis://h:xxxxx" has no server`},
		{`"storeConfig":{"tieredConfig":{"redis":{"addresses":["::1:6379"]}}}`, `"::1:6379" is not host:port`},
		{`"storeConfig":{"tieredConfig":{"redis":{"addresses":["redis://:hunter2@h:1"]}}}`,
			`"redis://xxxxx@h:1" is not host:port`},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h"},"mongo":{"uri":"h"}}}`,
			"mongo.uri: the value is not a URI"},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h"},"mongo":{"uri":"mongodb://h:x"}}}`,
			`mongo.uri: "mongodb://h:xxxxx" has no servers`},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h"},"mongo":{}}}`, "mongo.uri: is missing"},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h"},"mongo":{"uri":"mongodb://h","database":""}}}`,
			"mongo.database: is empty"},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h"},"mongo":{"uri":"mongodb://h","collection":""}}}`,
			"mongo.collection: is empty"},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h"},"stream":{"key":""}}}`,
			"stream: key and consumerGroup must not be empty"},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h"},"stream":{"consumerGroup":""}}}`,
			"stream: key and consumerGroup must not be empty"},
		{`"storeConfig":{"memory":{}}`, `storeConfig: unknown key "memory"`},
		{`"storeConfig":{"inMemoryConfig":{"size":1}}`, `inMemoryConfig: unknown key "size"`},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h"},"disk":{}}}`, `tieredConfig: unknown key "disk"`},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h","url":"x"}}}`, `redis: unknown key "url"`},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h"},"mongo":{"uri":"mongodb://h","url":"x"}}}`,
			`mongo: unknown key "url"`},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h"},"stream":{"group":"x"}}}`,
			`stream: unknown key "group"`},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h"},"stream":{"batchSize":0}}}`, "batchSize: 0"},
		{`"storeConfig":{"tieredConfig":{"redis":{"address":"redis://h","maxEntryBytes":16777216},
			"mongo":{"uri":"mongodb://h"}}}`, "redis.maxEntryBytes: 16777216 is too much for a document of MongoDB"},
		{`"tenantHeader":"a b"`, at + `tenantHeader: "a b" is not the name of a header; one such as x-session-id is right`},
		{`"tenantHeader":""`, `tenantHeader: is empty; name the header that says whose a conversation is`},
		{`"store":{}`, `unknown key "store"`},
	}
	for _, test := range tests {
		_, err := pluginconfig.Parse([]byte(document(gate, test.parameters)))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.parameters, err, test.want)
		}
	}
	_, err := pluginconfig.Parse([]byte(document(gate,
		`"storeConfig":{"tieredConfig":{"redis":{"address":"http://u:secret@h","password":["secret"]}}}`)))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want a mistake without the password", err)
	}
}
