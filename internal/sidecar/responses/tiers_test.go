package responses

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/scoring"
)

// fakeTier is a second tier that can fail, refuse, and wait. Gateways of a test share it.
type fakeTier struct {
	mu      sync.Mutex
	all     map[string]record
	failing error
	refuses string // a key
	gets    int
	// entered, unless it is nil, hears of every Keep, which waits for released then.
	entered, released chan struct{}
}

func (f *fakeTier) Get(_ context.Context, key string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gets++
	if f.failing != nil {
		return nil, f.failing
	}
	if r, ok := f.all[key]; ok && r.value != nil {
		return r.value, nil
	}
	return nil, ErrUnknown
}

func (f *fakeTier) Keep(ctx context.Context, all []record) (map[string]error, error) {
	if f.entered != nil {
		f.entered <- struct{}{}
		<-f.released
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing != nil {
		return nil, f.failing
	}
	if f.all == nil {
		f.all = map[string]record{}
	}
	refused := map[string]error{}
	for _, r := range all {
		if r.key == f.refuses {
			refused[r.key] = errors.New("no")
		} else if _, ok := f.all[r.key]; !ok || r.value == nil {
			f.all[r.key] = r
		}
	}
	return refused, nil
}

func (f *fakeTier) Close() error { return nil }

func (f *fakeTier) set(failing error, refuses string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failing, f.refuses = failing, refuses
}

// has returns how many keys it has values of.
func (f *fakeTier) has() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.all {
		if r.value != nil {
			n++
		}
	}
	return n
}

// waitFor waits until it has so many.
func (f *fakeTier) waitFor(t *testing.T, what string, want int) {
	t.Helper()
	harness.WaitFor(t, 20*time.Second, what, func() (bool, string) { return f.has() == want, fmt.Sprint(f.has()) })
}

// tiers is a store with a second tier. What the stream tells of is brought there until stop.
type tiers struct {
	*client
	stop func()
}

func openTiers(t *testing.T, v *harness.Valkey, second secondTier, change func(*scoring.StoreTiers)) *tiers {
	t.Helper()
	config := tieredOf(scoring.StoreRedis{Address: "redis://" + v.Address})
	config.Tiered.Mongo = &scoring.StoreMongo{TTL: 2 * time.Hour, Timeout: time.Second, URI: "mongodb://127.0.0.1:1"}
	if change != nil {
		change(config.Tiered)
	}
	c := open(t, config)
	_ = c.s.backend.Close()
	backend, err := newTiered(*config.Tiered, second, c.s.metrics, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	c.s.backend = backend
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { c.s.Run(ctx) })
	stop := sync.OnceFunc(func() { cancel(); done.Wait() })
	t.Cleanup(stop)
	return &tiers{c, stop}
}

// counted is the value of a metric of the store with labels, in the order of their names.
func (c *client) counted(name, labels string) float64 {
	c.t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c.s.Collector())
	families, err := registry.Gather()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var values []string
			for _, label := range m.GetLabel() {
				values = append(values, label.GetValue())
			}
			if family.GetName() == "pintle_store_"+name && strings.Join(values, " ") == labels {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// empty waits until the stream has nothing left.
func empty(t *testing.T, v *harness.Valkey) {
	t.Helper()
	client := v.Client()
	defer client.Close()
	harness.WaitFor(t, 20*time.Second, "the stream to be empty", func() (bool, string) {
		n, err := client.XLen(t.Context(), "sync").Result()
		return n == 0, fmt.Sprint(n, err)
	})
}

func TestSecondTier(t *testing.T) {
	v := harness.StartValkey(t)
	second := &fakeTier{}
	c := openTiers(t, v, second, nil)
	client := v.Client()
	defer client.Close()
	c.store("", `"a"`, answer("r1", "b"))
	c.store("r1", `"c"`, answer("r2", "d"))
	second.waitFor(t, "both entries", 2)
	empty(t, v)
	left := func(what string, most time.Duration) {
		t.Helper()
		if got := client.PTTL(t.Context(), keyPrefix+"r2:").Val(); got <= most-time.Minute || got > most {
			t.Errorf("%s: got %v left, want some less than %v", what, got, most)
		}
	}
	left("brought to the second tier", time.Hour)
	if err := client.FlushAll(t.Context()).Err(); err != nil { // as if their time were over
		t.Fatal(err)
	}
	c.wantHistory("r2", asked("a"), said("b"), asked("c"), said("d"))
	left("written back", time.Hour)
	gets := second.gets
	c.wantHistory("r2", asked("a"), said("b"), asked("c"), said("d"))
	if second.gets != gets {
		t.Error("the second tier was asked for what is back in the first")
	}
	for name, want := range map[string]float64{"hit redis": 1, "miss redis": 1, "hit mongo": 1} {
		if got := c.counted("lookups_total", name); got != want {
			t.Errorf("%s: counted %v, want %v", name, got, want)
		}
	}
	c.want(200, "DELETE", "responses/r2")
	c.want(404, "GET", "responses/r2")
	second.waitFor(t, "the deleted one to go", 1)
	c.store("r1", `"c"`, answer("r2", "d")) // told again
	c.want(404, "GET", "responses/r2")
	empty(t, v)
	client.Del(t.Context(), keyPrefix+"r2:")
	c.want(404, "GET", "responses/r2")
	second.set(errors.New("down"), "")
	c.want(503, "GET", "responses/nobody")
	second.set(nil, "")
	c.want(404, "GET", "responses/nobody")
}

// TestSecondTierAway: what the second tier does not take stays in Redis for its whole time, and comes there later.
func TestSecondTierAway(t *testing.T) {
	v := harness.StartValkey(t)
	second := &fakeTier{}
	second.set(errors.New("down"), "")
	c := openTiers(t, v, second, func(tiers *scoring.StoreTiers) { tiers.Redis.TTL = time.Second })
	for i := range 40 {
		c.store("", `"a"`, answer(fmt.Sprint("r", i), "b"))
	}
	harness.WaitFor(t, 20*time.Second, "the trouble to be told", func() (bool, string) {
		return c.s.Trouble() == "responses: they cannot be brought to mongo: second tier: down", c.s.Trouble()
	})
	client := v.Client()
	defer client.Close()
	if got := client.PTTL(t.Context(), keyPrefix+"r0:").Val(); got < time.Hour {
		t.Errorf("got %v left of what is nowhere else, want all its time", got)
	}
	second.set(nil, "r7:")
	second.waitFor(t, "all but one to come", 39)
	second.set(nil, "")
	second.waitFor(t, "the one that was refused to be claimed", 40)
	empty(t, v)
	if got := c.s.Trouble(); got != "" {
		t.Errorf("got %q, want no trouble", got)
	}
}

// TestClaim: what a consumer has read when it ends goes to another one, but not before claimAge.
func TestClaim(t *testing.T) {
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	read := func(group string) {
		t.Helper()
		harness.WaitFor(t, 20*time.Second, "the message to be read", func() (bool, string) {
			pending, err := client.XPending(t.Context(), "sync", group).Result()
			return err == nil && pending.Count == 1, fmt.Sprint(pending, err)
		})
	}
	dead := &fakeTier{failing: errors.New("down")}
	c := openTiers(t, v, dead, nil)
	c.store("", `"a"`, answer("r1", "b"))
	read("g")
	c.stop()

	second := &fakeTier{}
	patient := openTiers(t, v, second, func(tiers *scoring.StoreTiers) { tiers.Stream.ClaimAge = time.Hour })
	patient.store("", `"a"`, answer("r2", "b"))
	second.waitFor(t, "what is new", 1)
	read("g") // it has asked for what to claim before
	patient.stop()
	c = openTiers(t, v, second, nil)
	second.waitFor(t, "the message to be claimed", 2)
	if got := c.counted("synced_total", "claimed"); got < 1 {
		t.Errorf("got %v claimed, want one", got)
	}
	empty(t, v)
}

// TestConsumerEnds has the consumer end between claim and acknowledgement: before the second tier has what
// it was told, and after.
func TestConsumerEnds(t *testing.T) {
	v := harness.StartValkey(t)
	kept := &fakeTier{}
	for round := range 4 {
		ending := &fakeTier{entered: make(chan struct{}), released: make(chan struct{})}
		if round%2 == 0 {
			ending.failing = errors.New("down")
		}
		c := openTiers(t, v, ending, nil)
		c.store("", `"a"`, answer(fmt.Sprint("r", round), "b"))
		<-ending.entered
		_ = c.s.backend.(*tiered).consumer.client.Close() // nothing is acknowledged from here on
		close(ending.released)
		c.stop()
		c = openTiers(t, v, kept, nil)
		kept.waitFor(t, "what was claimed", round+1)
		c.stop()
	}
}

// TestTidy: consumers that ended are forgotten, but for those that others have to claim from.
func TestTidy(t *testing.T) {
	v := harness.StartValkey(t)
	c := openTiers(t, v, &fakeTier{}, nil)
	c.store("", `"a"`, answer("r1", "b"))
	empty(t, v)
	c.stop()
	config := c.s.backend.(*tiered).config
	names := []string{"busy", "idle", "tidying"}
	consumers := map[string]*consumer{}
	for i, name := range names {
		one, err := newConsumer(config, &fakeTier{}, c.s.metrics, c.s.log)
		if err != nil {
			t.Fatal(err)
		}
		defer one.client.Close()
		one.name, consumers[name] = name, one
		if i == 0 {
			one.client.XAdd(t.Context(), &redis.XAddArgs{Stream: "sync", Values: []any{"key", "k"}})
		}
		if err := one.read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tidying := consumers["tidying"]
	left := func() (names []string) {
		all, err := tidying.client.XInfoConsumers(t.Context(), "sync", "g").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			names = append(names, one.Name)
		}
		return names
	}
	before := left()
	if err := tidying.tidy(t.Context(), time.Hour); err != nil || !slices.Equal(left(), before) {
		t.Errorf("got %v, %v, want nobody forgotten of %v", left(), err, before)
	}
	if err := tidying.tidy(t.Context(), 0); err != nil || !slices.Equal(left(), []string{"busy", "tidying"}) {
		t.Errorf("got %v, %v, want the busy one and itself", left(), err)
	}
	got, err := tidying.client.Eval(t.Context(), tidyScript, []string{"sync"}, "g", "busy").Int()
	if err != nil || got != 0 {
		t.Errorf("got %v, %v, want what is not acknowledged to stay", got, err)
	}
}
