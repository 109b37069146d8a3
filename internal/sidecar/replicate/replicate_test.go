package replicate

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

const (
	token  = "token"
	stream = "pintle:test"
	limit  = 30 * time.Second // on a busy machine nothing is quick
)

func init() { redisTimeout, recentAge = 5*time.Second, time.Hour }

// gateway is an Envoy with its member of the stream.
type gateway struct {
	*harness.Gateway
	t      *testing.T
	name   string
	redis  scoring.StoreRedis
	member *Member
	change []func(r *config.Replicate)
	stop   func()
	seen   []journal.Event
}

// newGateway starts a gateway whose configuration is changed by change.
func newGateway(t *testing.T, name string, redis scoring.StoreRedis, change ...func(r *config.Replicate)) *gateway {
	t.Helper()
	g := &gateway{Gateway: harness.NewGateway(t), t: t, name: name, redis: redis, change: change, stop: func() {}}
	g.start()
	t.Cleanup(func() { g.stop() })
	return g
}

// start starts a sidecar's process.
func (g *gateway) start() {
	g.t.Helper()
	r := &config.Replicate{Redis: g.redis, Stream: stream, MaxLen: 10_000, Gateway: g.name,
		Interval: 5 * time.Millisecond}
	for _, change := range g.change {
		change(r)
	}
	all, err := New(&config.Config{Ingests: []config.Ingest{{Name: g.name, URL: g.URL}}, Replicate: r},
		func() string { return token }, slog.New(slog.DiscardHandler))
	if err != nil {
		g.t.Fatal(err)
	}
	g.member = all[0]
	ctx, cancel := context.WithCancel(g.t.Context())
	done := make(chan struct{})
	go func() {
		g.member.Run(ctx)
		close(done)
	}()
	g.stop = func() {
		cancel()
		<-done
	}
}

// decide opens a lease, and complete ends it.
func (g *gateway) decide() uint32 {
	lease := g.NextLease()
	g.Append(&journal.Event{Kind: journal.Decision, Time: time.Now().UnixNano(), Lease: lease, Primary: 1,
		Chains: []journal.Chain{{ID: 1, Blocks: []uint64{2, 3}}}, Steps: []byte("steps")})
	return lease
}

func (g *gateway) complete(lease uint32) {
	g.Append(&journal.Event{Kind: journal.Completion, Time: time.Now().UnixNano(), Lease: lease, Primary: 1})
}

// others are the events of other gateways that the journal has, in short: d1 is a decision, c1 its completion.
func (g *gateway) others() (all []string) {
	g.seen = append(g.seen, g.Events()...)
	for _, e := range g.seen {
		if e.Relayed {
			all = append(all, short(&e))
		}
	}
	return all
}

func short(e *journal.Event) string {
	kinds := map[journal.Kind]string{journal.Decision: "d", journal.Completion: "c", journal.Gone: "g"}
	return fmt.Sprint(kinds[e.Kind], e.Lease)
}

// wantOthers waits until the journal has these events of other gateways and no more.
func (g *gateway) wantOthers(want ...string) {
	g.t.Helper()
	harness.WaitFor(g.t, limit, g.name+" to have "+strings.Join(want, " "), func() (bool, string) {
		got := g.others()
		return reflect.DeepEqual(got, want), fmt.Sprint(got, g.member.Now(time.Now()))
	})
}

// appendRaw appends an entry as a gateway would that has no Envoy here.
func appendRaw(t *testing.T, client *redis.Client, text []byte) {
	t.Helper()
	err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: []any{field, text}}).Err()
	if err != nil {
		t.Fatal(err)
	}
}

// sealed is an entry of a gateway called x with decisions, their leases as their numbers in the log.
func sealed(key string, at time.Time, leases ...uint64) []byte {
	e := entry{gateway: "x", sent: at.UnixNano(), end: journal.Position{Epoch: 9}}
	before := uint64(0)
	for _, n := range leases {
		e.batch = appendEvent(e.batch, before, n, &journal.Event{Kind: journal.Decision, Instance: 99, Lease: uint32(n),
			Time: at.Add(-time.Second).UnixNano()})
		before = n
	}
	return newCodec(stream, func() string { return key }).seal(&e)
}

func addressOf(v *harness.Valkey) scoring.StoreRedis {
	return scoring.StoreRedis{Address: "redis://" + v.Address}
}

func TestGatewaysKnowOfEachOther(t *testing.T) {
	v := harness.StartValkey(t)
	a, b := newGateway(t, "a", addressOf(v)), newGateway(t, "b", addressOf(v))
	lease := a.decide()
	b.wantOthers("d1")
	a.complete(lease)
	b.wantOthers("d1", "c1")
	b.decide()
	a.wantOthers("d1")
	c := newGateway(t, "c", addressOf(v)) // comes late and catches up
	c.wantOthers("d1", "c1", "d1")
	c.decide()
	a.wantOthers("d1", "d1")
	b.wantOthers("d1", "c1", "d1")

	client := v.Client()
	defer client.Close()
	all, err := client.XRange(t.Context(), stream, "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	events := map[string]int{}
	codec := newCodec(stream, func() string { return token })
	for i := range all {
		e, err := codec.open(textOf(&all[i]))
		if err != nil {
			t.Fatal(err)
		}
		if err := codec.unpack(&e); err != nil {
			t.Fatal(err)
		}
		eachEvent(e.batch, &journal.Event{}, func(_ uint64, event *journal.Event) {
			events[e.gateway]++
			if event.Relayed || len(event.Steps) > 0 || event.Kind == journal.Decision && len(event.Chains) != 1 {
				t.Errorf("%s appended %+v, want events of its own, with chains and without steps", e.gateway, event)
			}
		})
	}
	if want := map[string]int{"a": 2, "b": 1, "c": 1}; !reflect.DeepEqual(events, want) {
		t.Errorf("appended %v, want %v: nobody repeats what others said", events, want)
	}
}

// TestEachEventOnce has entries come twice, in any order, and from clocks that are minutes off.
func TestEachEventOnce(t *testing.T) {
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	a := newGateway(t, "a", addressOf(v))
	now := time.Now()
	first, second, third := sealed(token, now.Add(5*time.Minute), 10, 11), sealed(token, now, 12, 13),
		sealed(token, now.Add(-5*time.Minute), 14)
	for _, text := range [][]byte{first, third, first, second, third, second, sealed(token, now, 11, 12, 15)} {
		appendRaw(t, client, text)
	}
	a.wantOthers("d10", "d11", "d14", "d12", "d13", "d15")
	for i := range a.seen {
		age := time.Since(time.Unix(0, a.seen[i].Time))
		if age < time.Second || age > limit+time.Second {
			t.Errorf("%s is %v old, want a second and what passed since", short(&a.seen[i]), age)
		}
	}
	harness.WaitFor(t, limit, "the duplicates to be counted", func() (bool, string) {
		s := a.member.Now(time.Now())
		return len(s.Gateways) == 1 && s.Gateways[0].Duplicates == 7, fmt.Sprint(s)
	})
}

func TestRefusesWhatItCannotTrust(t *testing.T) {
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	now := time.Now()
	good := sealed(token, now, 1)
	version := slices.Clone(good)
	version[3]++
	codec := newCodec(stream, func() string { return token })
	for _, text := range [][]byte{
		nil, []byte("x"), good[:20], slices.Concat([]byte("XYZ"), good[3:]), // torn
		version,                                           // of another version
		sealed("another key", now, 2), good[:len(good)-1], // foreign
		newCodec("another stream", func() string { return token }).seal(&entry{gateway: "x"}),
		slices.Clone(codec.seal(&entry{gateway: "x", batch: []byte("no events")})), // torn, by one with the key
	} {
		appendRaw(t, client, text)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1
		appendRaw(t, client, bad)
	}
	appendRaw(t, client, sealed(token, now, 3))
	a := newGateway(t, "a", addressOf(v))
	a.wantOthers("d3")
	got := a.member.Now(time.Now()).Refused
	want := map[string]uint64{"torn": 8, "version": 2, "foreign": uint64(len(good) - 4 + 3)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("refused %v, want %v", got, want)
	}
}

// TestRestarts has both sides begin anew: a sidecar goes on where the former one ended, and an Envoy gets all that is
// known, what it had decided itself among it.
func TestRestarts(t *testing.T) {
	v := harness.StartValkey(t)
	a, b := newGateway(t, "a", addressOf(v)), newGateway(t, "b", addressOf(v))
	a.complete(a.decide())
	b.wantOthers("d1", "c1")
	b.decide()
	a.wantOthers("d1")
	a.stop()
	b.decide()
	a.decide()
	a.start()
	a.wantOthers("d1", "d2")
	b.wantOthers("d1", "c1", "d2")

	a.Restart()
	a.seen = nil
	a.wantOthers("d1", "c1", "d1", "d2", "d2", "g0")
	b.wantOthers("d1", "c1", "d2", "g0") // the requests of the former process are over
	a.decide()
	b.wantOthers("d1", "c1", "d2", "g0", "d1")
}
