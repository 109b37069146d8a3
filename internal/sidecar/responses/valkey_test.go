package responses

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/scoring"
)

func init() { redisTimeout = 20 * time.Second } // on a busy machine nothing is quick

func tieredOf(r scoring.StoreRedis) scoring.StoreBackend {
	r.TTL, r.MaxEntryBytes = time.Hour, 1<<20
	stream := scoring.StoreStream{Key: "sync", Group: "g", MaxLen: 10_000, BatchSize: 10,
		BlockTimeout: 20 * time.Millisecond, ClaimAge: 100 * time.Millisecond}
	return scoring.StoreBackend{Tiered: &scoring.StoreTiers{Redis: r, Stream: stream}}
}

// plays tells whether a store of the configuration serves a conversation to another gateway with the same.
func plays(t *testing.T, config scoring.StoreBackend) {
	t.Helper()
	a, b := open(t, config), open(t, config)
	defer a.s.backend.Close()
	defer b.s.backend.Close()
	if status := a.store("", `"a"`, answer("r1", "b")); status != 204 {
		t.Fatalf("stored: got %d", status)
	}
	if status := b.store("r1", `"c"`, answer("r2", "d")); status != 204 {
		t.Fatalf("stored by another gateway: got %d", status)
	}
	a.wantHistory("r2", asked("a"), said("b"), asked("c"), said("d"))
	b.want(200, "GET", "responses/r1")
	a.want(200, "DELETE", "responses/r1")
	b.want(404, "GET", "responses/r1")
	b.want(404, "DELETE", "responses/r1")
	if status := a.store("", `"a"`, answer("r1", "b")); status != 204 {
		t.Errorf("told again: got %d, want 204", status)
	}
	b.want(404, "GET", "responses/r1")
}

func TestValkey(t *testing.T) {
	v := harness.StartValkey(t)
	for name, config := range map[string]scoring.StoreRedis{
		"redis://":    {Address: "redis://" + v.Address},
		"valkey://":   {Address: "valkey://" + v.Address + "/3"},
		"one address": {Addresses: []string{v.Address}, DB: 2},
	} {
		t.Run(name, func(t *testing.T) { plays(t, tieredOf(config)) })
	}
	t.Run("time", func(t *testing.T) {
		config := tieredOf(scoring.StoreRedis{Address: "redis://" + v.Address + "/4"})
		config.Tiered.Redis.TTL = 50 * time.Millisecond
		c := open(t, config)
		c.store("", `"a"`, answer("r1", "b"))
		time.Sleep(100 * time.Millisecond) // what is tested is that time passes
		c.want(404, "GET", "responses/r1")
	})
}

func TestValkeyWithPassword(t *testing.T) {
	v := harness.StartValkey(t)
	admin := v.Client()
	defer admin.Close()
	if err := admin.ACLSetUser(t.Context(), "pintle", "on", ">secret", "~pintle:*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	plays(t, tieredOf(scoring.StoreRedis{Address: "redis://" + v.Address, Username: "pintle", Password: "secret"}))
	c := open(t, tieredOf(scoring.StoreRedis{Address: "redis://" + v.Address, Username: "pintle", Password: "wrong"}))
	c.want(503, "GET", "responses/r1")
}

func TestValkeyCluster(t *testing.T) {
	plays(t, tieredOf(scoring.StoreRedis{Addresses: harness.Addresses(harness.StartValkeyCluster(t))}))
}

func TestValkeySentinel(t *testing.T) {
	master := harness.StartValkey(t)
	sentinel := harness.StartSentinel(t, master, 0)
	plays(t, tieredOf(scoring.StoreRedis{Addresses: []string{sentinel.Address}, MasterName: "main"}))
}

// TestKills has Valkey end twenty times, at any moment, while responses come from two gateways. All that was
// acknowledged is there at the end, and nothing that is there is unknown.
func TestKills(t *testing.T) {
	v := harness.StartValkey(t)
	config := tieredOf(scoring.StoreRedis{Address: "redis://" + v.Address})
	var writers sync.WaitGroup
	var stored [2][]string
	stop := make(chan struct{})
	for i := range stored {
		c := open(t, config)
		defer c.s.backend.Close()
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("r%d-%d", i, n)
				if c.store("", `"`+id+`"`, answer(id, "x")) != 204 {
					continue
				}
				stored[i] = append(stored[i], id)
				if status, _ := c.do("GET", "history/"+id, ""); status != 200 && status != 503 {
					t.Errorf("%s: got %d for what was acknowledged", id, status)
				}
			}
		})
	}
	for range 20 {
		time.Sleep(20 * time.Millisecond) // for some to be under way
		v.Kill()
		if err := v.Start(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	writers.Wait()
	c := open(t, config)
	defer c.s.backend.Close()
	for _, id := range append(stored[0], stored[1]...) {
		c.wantHistory(id, asked(id), said("x"))
	}
	if len(stored[0]) == 0 || len(stored[1]) == 0 {
		t.Errorf("got %d and %d stored, want some of both", len(stored[0]), len(stored[1]))
	}
}
