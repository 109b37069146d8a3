package replicate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestSaid: an entry was said when the server took it, by a server's clock that may be off.
func TestSaid(t *testing.T) {
	for _, test := range []struct {
		name  string
		ahead time.Duration // the server's clock
		clock *clock
		age   time.Duration // of the entry, by that clock
		want  time.Duration
	}{
		{"no clock is known", 0, nil, time.Minute, time.Minute},
		{"the same clock", 0, &clock{}, time.Minute, time.Minute},
		{"ahead", time.Hour, &clock{offset: int64(time.Hour)}, time.Minute, time.Minute},
		{"behind", -time.Hour, &clock{offset: -int64(time.Hour)}, time.Minute, time.Minute},
		{"it leapt ahead since", time.Hour, &clock{}, time.Minute, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &Member{}
			m.clock.Store(test.clock)
			r := reader{Member: m}
			began := time.Now()
			id := streamID{High: uint64(began.Add(test.ahead - test.age).UnixMilli())}
			got := began.Sub(r.said(id, now()))
			// The ID is cut to a millisecond, and the time since is the machine's.
			if took := time.Since(began); got < test.want-took || got > test.want+took+time.Millisecond {
				t.Errorf("said %v ago, want %v", got, test.want)
			}
		})
	}
}

// TestHeardAgain: a stream that is read anew, from its beginning, makes nobody silent who has said something since.
func TestHeardAgain(t *testing.T) {
	r := reader{Member: &Member{Gateway: "self"}, codec: newCodec(stream, func() string { return token }),
		known: peers{}}
	began := time.Now()
	silences := []time.Duration{time.Minute, time.Second, time.Hour}
	want := []time.Duration{time.Minute, time.Second, time.Second}
	for i, ago := range silences {
		at := began.Add(-ago)
		e, err := r.codec.open(sealed(token, at))
		if err == nil {
			err = r.collect(&e, streamID{High: uint64(at.UnixMilli())})
		}
		if err != nil {
			t.Fatal(err)
		}
		got, took := began.Sub(r.known["x"].heard), time.Since(began)
		if got < want[i]-took || got > want[i]+took+time.Millisecond {
			t.Errorf("after what was said %v ago: silent for %v, want %v", ago, got, want[i])
		}
	}
}

// TestSilenceBeforeTheStart: what an entry of old says is no sign of life, whoever starts meanwhile.
func TestSilenceBeforeTheStart(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	began := time.Now()
	const silent = time.Minute
	id := fmt.Sprint(began.Add(-silent).UnixMilli(), "-0")
	if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, ID: id,
		Values: []any{field, sealed(token, began.Add(-silent), 1)}}).Err(); err != nil {
		t.Fatal(err)
	}
	a := newGateway(t, "a", addressOf(v))
	a.wantOthers("d1")
	at := time.Now()
	got := a.member.Now(at).Gateways
	if len(got) != 1 || got[0].Silence < silent.Seconds()-1 || got[0].Silence > (silent+at.Sub(began)).Seconds()+1 {
		t.Errorf("got %+v, want one gateway that has been silent for %v and what passed since", got, silent)
	}
}

// TestSilentGatewaysAreShownForAWhile: rollouts leave no dead series behind, and who comes back goes on counting.
func TestSilentGatewaysAreShownForAWhile(t *testing.T) {
	now := time.Now()
	known := peers{}
	m := &Member{Gateway: "self", metrics: newMetrics(), reader: reader{known: known}}
	m.metrics.members = []*Member{m}
	for name, silence := range map[string]time.Duration{"self": 0, "lives": time.Second, "fell silent": shownFor,
		"of a former rollout": shownFor + 1} {
		p := known.of(name)
		p.heard, p.events = now.Add(-silence), 7
	}
	shown := func(at time.Time) (names []string) {
		for _, g := range m.Now(at).Gateways {
			names = append(names, g.Name)
		}
		return names
	}
	if got, want := shown(now), []string{"fell silent", "lives"}; !slices.Equal(got, want) {
		t.Errorf("shows %q, want %q", got, want)
	}
	known.of("of a former rollout").heard = now
	if got := m.Now(now).Gateways; len(got) != 3 || got[2].Events != 7 {
		t.Errorf("got %+v, want the third one back with its 7 events", got)
	}
}
