package responses

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/scoring"
)

// TestHowLongRedisKeeps: what the second tier has Redis keeps for its own time, and for all of the time what that has
// not: a response that it refused, and that one was deleted while it was brought there.
func TestHowLongRedisKeeps(t *testing.T) {
	const own, whole = time.Hour, 2 * time.Hour
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	config := tieredOf(scoring.StoreRedis{Address: "redis://" + v.Address}).Tiered
	config.Mongo = &scoring.StoreMongo{TTL: whole}
	e := &Entry{ID: "r", Expires: time.Now().Add(whole), Response: []byte("{}")}
	for _, test := range []struct {
		name                        string
		deleted, refused, meanwhile bool
		keeps, secondKeeps          time.Duration // 0 for nothing
	}{
		{"a response", false, false, false, own, whole},
		{"a refused one", false, true, false, whole, 0},
		{"a deleted one", true, false, false, own, whole},
		{"one that is deleted meanwhile", false, false, true, whole, whole},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := func(value []byte) {
				t.Helper()
				if err := client.Set(t.Context(), keyPrefix+e.Key(), value, whole).Err(); err != nil {
					t.Error(err)
				}
			}
			if set(e.encode(nil)); test.deleted {
				set([]byte(tombstone))
			}
			second := &fakeTier{entered: make(chan struct{}), released: make(chan struct{})}
			if test.refused {
				second.refuses = e.Key()
			}
			c, err := newConsumer(*config, second, newMetrics(), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer c.client.Close()
			c.held = []redis.XMessage{{ID: "1-1", Values: map[string]any{"key": e.Key()}}}
			brought := make(chan error)
			go func() { brought <- c.bring(t.Context()) }()
			if <-second.entered; test.meanwhile {
				set([]byte(tombstone))
			}
			close(second.released)
			if err := <-brought; err != nil {
				t.Fatal(err)
			}
			got := client.PTTL(t.Context(), keyPrefix+e.Key()).Val()
			if got > test.keeps || got < test.keeps-10*time.Minute {
				t.Errorf("redis keeps it for %v, want %v", got, test.keeps)
			}
			left := time.Duration(0)
			if r, has := second.all[e.Key()]; has {
				left = time.Until(r.expires)
			}
			if left > test.secondKeeps || left < test.secondKeeps-10*time.Minute {
				t.Errorf("the second tier keeps it for %v, want %v", left, test.secondKeeps)
			}
		})
	}
}

// TestHowLongDeletionsLast: Redis knows that a response was deleted for as long as it may be told again, and where
// there is a second tier for as long as that may have it.
func TestHowLongDeletionsLast(t *testing.T) {
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	config := tieredOf(scoring.StoreRedis{Address: "redis://" + v.Address})
	alone := open(t, config)
	defer alone.s.backend.Close()
	config.Tiered.Mongo = &scoring.StoreMongo{TTL: 2 * time.Hour}
	two, err := newTiered(*config.Tiered, &fakeTier{}, newMetrics(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	for _, test := range []struct {
		name    string
		backend Backend
		want    time.Duration
	}{{"alone", alone.s.backend, deletedFor}, {"before a second tier", two, 2 * time.Hour}} {
		t.Run(test.name, func(t *testing.T) {
			e := &Entry{ID: "r", Tenant: test.name, Expires: time.Now().Add(time.Hour), Response: []byte("{}")}
			for _, err := range []error{test.backend.Put(t.Context(), e), test.backend.Delete(t.Context(), e.Key())} {
				if err != nil {
					t.Fatal(err)
				}
			}
			got := client.PTTL(t.Context(), keyPrefix+e.Key()).Val()
			if got > test.want || got < test.want/2 {
				t.Errorf("a deletion lasts for %v, want %v", got, test.want)
			}
		})
	}
}
