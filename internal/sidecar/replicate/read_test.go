package replicate

import (
	"fmt"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/journal"
)

// TestBeginsAnew: another stream is read with what has been seen in mind, unless that is what Envoy was only thought to
// have.
func TestBeginsAnew(t *testing.T) {
	for _, test := range []struct {
		name        string
		old, cursor streamID
		seen        bool
	}{
		{"Envoy had nothing", streamID{}, streamID{7, 0}, true},
		{"behind what Envoy had", streamID{5, 0}, streamID{5, 1}, true},
		{"up to what Envoy had", streamID{5, 0}, streamID{5, 0}, false},
		{"before that", streamID{5, 0}, streamID{4, 9}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := reader{Member: &Member{}, known: peers{}, old: test.old, cursor: test.cursor}
			r.reached(test.cursor)
			r.known.of("x").log(9).admit(1)
			r.beginAnew()
			if seen := !r.known.of("x").log(9).admit(1); seen != test.seen {
				t.Errorf("the event has been seen: %v, want %v", seen, test.seen)
			}
			if r.old != (streamID{}) || r.cursor != (streamID{}) || r.taken.Load() != nil {
				t.Errorf("goes on at %v, with %v as Envoy's and %v taken, want the beginning", r.cursor, r.old,
					r.taken.Load())
			}
		})
	}
}

// TestNoEventIsOfTheFuture: what another gateway tells is at the latest of now, whatever its clock has done.
func TestNoEventIsOfTheFuture(t *testing.T) {
	for _, test := range []struct {
		name       string
		after, age time.Duration // the event, by its gateway's clock, after its entry was sent; and its age here
	}{
		{"before", -time.Minute, time.Minute},
		{"ahead", time.Hour, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := reader{Member: &Member{Gateway: "self"}, codec: newCodec(stream, func() string { return token }),
				known: peers{}, newest: map[*peer]int64{}}
			began := time.Now()
			sent := began.Truncate(time.Millisecond)
			e := &entry{gateway: "x", sent: sent.UnixNano(), end: journal.Position{Epoch: 9}}
			e.batch = appendEvent(nil, 0, 1, &journal.Event{Kind: journal.Decision, Instance: 99, Lease: 1,
				Time: sent.Add(test.after).UnixNano()})
			opened, err := r.codec.open(newCodec(stream, r.codec.key).seal(e))
			if err == nil {
				err = r.collect(&opened, streamID{High: uint64(sent.UnixMilli())})
			}
			var got journal.Event
			if _, ok := got.Decode(r.events); err != nil || !ok {
				t.Fatalf("got %v and %d bytes, want an event", err, len(r.events))
			}
			at, most := time.Unix(0, got.Time), time.Now().Add(-test.age)
			if least := sent.Add(-test.age); at.Before(least) || at.After(most) {
				t.Errorf("is of %v, want %v to %v", at, least, most)
			}
		})
	}
}

// TestLagOfWhatEnvoyTook: how late events come is told of those that Envoy took, once, and of none that it refused.
func TestLagOfWhatEnvoyTook(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	a := newGateway(t, "a", addressOf(v))
	lags := func() uint64 {
		t.Helper()
		var m dto.Metric
		if err := a.member.metrics.lag.Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetHistogram().GetSampleCount()
	}
	x := func() GatewayState {
		if all := a.member.Now(time.Now()).Gateways; len(all) == 1 {
			return all[0]
		}
		return GatewayState{}
	}
	appendRaw(t, client, sealed(token, time.Now(), 1))
	harness.WaitFor(t, limit, "the lag", func() (bool, string) { return x().Lag >= 1, fmt.Sprint(x()) })
	took := x().Lag
	a.Refuse(400)
	appendRaw(t, client, sealed(token, time.Now(), 2))
	harness.WaitFor(t, limit, "the next event", func() (bool, string) { return x().Events == 2, fmt.Sprint(x()) })
	refused := func() uint64 { return a.member.Now(time.Now()).Refused[byEnvoy] }
	before := refused()
	harness.WaitFor(t, limit, "Envoy to refuse it, and the post behind it", func() (bool, string) {
		return refused() >= before+2, fmt.Sprint(refused())
	})
	if got := x().Lag; got != took || lags() != 1 {
		t.Errorf("got a lag of %v s, and %d counted, want the %v s of the one that Envoy took", got, lags(), took)
	}
}

// TestLagIsToldOnce: of events that Envoy has taken no later post tells again.
func TestLagIsToldOnce(t *testing.T) {
	r := reader{Member: &Member{metrics: newMetrics()}, newest: map[*peer]int64{{}: now().UnixNano(), {}: 1}}
	for range 2 {
		r.told()
	}
	var m dto.Metric
	if err := r.metrics.lag.Write(&m); err != nil || m.GetHistogram().GetSampleCount() != 2 {
		t.Errorf("got %v, and %d lags counted, want one of each of two gateways", err,
			m.GetHistogram().GetSampleCount())
	}
}
