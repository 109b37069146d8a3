package state

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

func TestPercentile(t *testing.T) {
	tests := []struct {
		name   string
		values []uint32
		q      float64
		want   float64
	}{
		{"none", nil, 0.5, 0},
		{"one", []uint32{7}, 0.9, 7},
		{"median of two", []uint32{20, 10}, 0.5, 15},
		{"median of three", []uint32{30, 10, 20}, 0.5, 20},
		{"p90 of five", []uint32{5, 1, 4, 2, 3}, 0.9, 4.6},
		{"p0", []uint32{5, 1, 4}, 0, 1},
		{"p100", []uint32{5, 1, 4}, 1, 5},
		{"beyond", []uint32{5, 1, 4}, 7, 5},
		{"below", []uint32{5, 1, 4}, -7, 1},
		{"not a number", []uint32{5, 1, 4}, math.NaN(), 1},
		{"equal", []uint32{5, 5, 5, 5}, 0.3, 5},
		{"largest", []uint32{math.MaxUint32, math.MaxUint32}, 0.5, math.MaxUint32},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWindows(0)
			w.Resize(2)
			for i, v := range tt.values {
				w.Add(1, int64(i), v)
			}
			if got := w.Percentile(1, tt.q); !(math.Abs(got-tt.want) <= 1e-9) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if got := w.Count(0) + w.Count(2) + w.Count(-1); got != 0 {
				t.Errorf("other indexes: got %d samples, want none", got)
			}
		})
	}
}

type sample struct {
	time  int64
	value uint32
}

// naiveWindow is a window as a list.
type naiveWindow []sample

func (w *naiveWindow) add(s sample) {
	i := len(*w)
	for i > 0 && (*w)[i-1].time > s.time {
		i--
	}
	if len(*w) == WindowSamples && i == 0 {
		return
	}
	*w = slices.Insert(*w, i, s)
	*w = (*w)[max(0, len(*w)-WindowSamples):]
}

func TestWindowsLikeAList(t *testing.T) {
	const age = 1000
	r := rand.New(rand.NewPCG(17, 18))
	w := NewWindows(age)
	w.Resize(1)
	var naive naiveWindow
	now := int64(0)
	for step := range 30_000 {
		now += r.Int64N(30) * r.Int64N(2)
		if r.IntN(200) == 0 {
			now += r.Int64N(3 * age)
		}
		w.Expire(now)
		old := func(s sample) bool { return s.time <= now-age }
		naive = slices.DeleteFunc(naive, old)
		s := sample{now - r.Int64N(60), r.Uint32N(50) * r.Uint32()}
		w.Add(0, s.time, s.value)
		naive.add(s)
		var values []uint32
		sum := 0.0
		for _, s := range naive {
			values = append(values, s.value)
			sum += float64(s.value)
		}
		if got := w.Count(0); got != len(naive) {
			t.Fatalf("step %d: got %d samples, want %d", step, got, len(naive))
		}
		if got, want := w.Mean(0), sum/float64(len(naive)); !(math.Abs(got-want) <= 1e-3) {
			t.Fatalf("step %d: got a mean of %v, want %v", step, got, want)
		}
		slices.Sort(values)
		if got := w.windows.at(0).sorted[:len(values)]; !slices.Equal(got, values) {
			t.Fatalf("step %d: got %v sorted, want %v", step, got, values)
		}
	}
	i := uint32(0)
	if n := testing.AllocsPerRun(1000, func() { i++; w.Add(0, now+int64(i), i); w.Percentile(0, 0.9) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func TestLatencyOfCompletions(t *testing.T) {
	tests := []struct {
		name       string
		event      journal.Event
		ttft, tpot float64 // -1 for no sample
	}{
		{"streamed", journal.Event{Status: 200, TTFTMicros: 100, DurationMicros: 1100, OutputTokens: 11}, 100, 100},
		{"rounded", journal.Event{Status: 200, TTFTMicros: 1, DurationMicros: 6, OutputTokens: 3}, 1, 3},
		{"two tokens", journal.Event{Status: 200, TTFTMicros: 100, DurationMicros: 110, OutputTokens: 2}, 100, 10},
		{"one token", journal.Event{Status: 200, TTFTMicros: 100, DurationMicros: 110, OutputTokens: 1}, 100, -1},
		{"tokens unknown", journal.Event{Status: 200, TTFTMicros: 100, DurationMicros: 1100}, 100, -1},
		{"duration unknown", journal.Event{Status: 200, TTFTMicros: 100, OutputTokens: 5}, 100, -1},
		{"all at once", journal.Event{Status: 201, TTFTMicros: 100, DurationMicros: 100, OutputTokens: 5}, 100, -1},
		{"first byte unknown", journal.Event{Status: 200, DurationMicros: 100, OutputTokens: 5}, -1, -1},
		{"refused", journal.Event{Status: 404, TTFTMicros: 100, DurationMicros: 1100, OutputTokens: 11}, -1, -1},
		{"failed", journal.Event{Status: 503, TTFTMicros: 100, DurationMicros: 1100, OutputTokens: 11}, -1, -1},
		{"reset", journal.Event{TTFTMicros: 100, DurationMicros: 1100, OutputTokens: 11}, -1, -1},
	}
	mean := func(w *Windows, index int) float64 {
		if w.Count(index) == 0 {
			return -1
		}
		return w.Mean(index)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, m := NewLatency(0), NewModelLatency(0)
			l.Resize(1)
			tt.event.Model = 5
			l.Complete(0, &tt.event)
			m.Complete(&tt.event)
			if got := mean(l.TTFT, 0); got != tt.ttft {
				t.Errorf("TTFT: got %v, want %v", got, tt.ttft)
			}
			if got := mean(l.TPOT, 0); got != tt.tpot {
				t.Errorf("TPOT: got %v, want %v", got, tt.tpot)
			}
			if got := mean(m.TTFT, m.Index(5)); got != tt.ttft {
				t.Errorf("TTFT of the model: got %v, want %v", got, tt.ttft)
			}
		})
	}
}

// TestModelsInOnePlace: the samples of a model are in one place, and the latest counts when one has to make way.
func TestModelsInOnePlace(t *testing.T) {
	m := NewModelLatency(0)
	complete := func(model uint64, at int64) {
		m.Complete(&journal.Event{Model: model, Time: at, Status: 200, TTFTMicros: uint32(at + 1)})
	}
	for model := range uint64(MaxModels) {
		complete(model+1, int64(model)+10)
	}
	complete(1, 9999) // which came first, and is used again
	complete(3, 5)    // told late, which makes it no older
	if got := m.TTFT.Count(m.Index(1)); got != 2 {
		t.Errorf("got %d samples of a model, want 2", got)
	}
	complete(MaxModels+1, 10_000)
	for model, known := range map[uint64]bool{1: true, 2: false, 3: true, MaxModels + 1: true} {
		if got := m.Index(model) >= 0; got != known {
			t.Errorf("model %d known: got %v, want %v", model, got, known)
		}
	}
}

func TestModelsAreBounded(t *testing.T) {
	m := NewModelLatency(0)
	e := journal.Event{Status: 200, TTFTMicros: 5}
	for i := range uint64(MaxModels + 50) {
		e.Model, e.Time = i+1, int64(i)
		m.Complete(&e)
	}
	for model, known := range map[uint64]bool{0: false, 1: false, 50: false, 51: true, MaxModels + 50: true} {
		if got := m.Index(model) >= 0; got != known {
			t.Errorf("model %d known: got %v, want %v", model, got, known)
		}
	}
	if got := m.TTFT.Count(m.Index(MaxModels + 1)); got != 1 {
		t.Errorf("model in a reused place: got %d samples, want 1", got)
	}
}

func TestFailures(t *testing.T) {
	second := int64(time.Second)
	type outcome struct {
		at     int64
		status uint16
		micros uint32
	}
	after := func(n int, share float64, failed float64) float64 {
		for range n {
			share += (failed - share) / 8
		}
		return share
	}
	repeat := func(n int, o outcome) (list []outcome) {
		for range n {
			list = append(list, o)
		}
		return list
	}
	tests := []struct {
		name     string
		outcomes []outcome
		now      int64
		want     float64
	}{
		{"nothing", nil, 0, 0},
		{"successes", repeat(50, outcome{0, 200, 1}), 0, 0},
		{"the client's mistakes", repeat(50, outcome{0, 404, 1}), 0, 0},
		{"one failure", repeat(1, outcome{0, 500, 1}), 0, 1.0 / 8},
		{"a client that left at once", repeat(9, outcome{0, 0, 1}), 0, 0},
		{"clients that were kept waiting", repeat(50, outcome{0, 0, 10 * PatienceMicros}), 0, 0},
		{"five on end", repeat(5, outcome{0, 503, 1}), 0, after(5, 0, 1)},
		{"six on end, after successes", append(repeat(1000, outcome{0, 200, 1}), repeat(6, outcome{0, 503, 1})...), 0,
			after(6, 0, 1)},
		{"a thousand on end", repeat(1000, outcome{0, 503, 1}), 0, 1},
		{"after one half-life", repeat(1000, outcome{0, 503, 1}), 20 * second, 0.5},
		{"after a day", repeat(9, outcome{0, 503, 1}), 86400 * second, 0},
		{"recovered", append(repeat(1000, outcome{0, 500, 1}), repeat(6, outcome{0, 200, 1})...), 0, after(6, 1, 0)},
		{"faded, then failed again", append(repeat(1000, outcome{0, 500, 1}), outcome{20 * second, 500, 1}),
			20 * second, after(1, 0.5, 1)},
		{"late news", []outcome{{10 * second, 200, 1}, {0, 500, 1}}, 10 * second, 1.0 / 8},
		{"old news", []outcome{{10*second + 1, 200, 1}, {0, 500, 1}}, 10 * second, 0},
		{"asked for the past", repeat(1, outcome{10 * second, 500, 1}), 0, 1.0 / 8},
		{"extremes", []outcome{{math.MinInt64, 500, 1}, {math.MaxInt64, 500, 1}}, math.MaxInt64, 1.0 / 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := NewFailures(0)
			f.Resize(1)
			for _, o := range tt.outcomes {
				f.Expire(max(o.at, f.clock.host))
				f.Complete(0, &journal.Event{Time: o.at, Status: o.status, DurationMicros: o.micros})
			}
			if got := f.Share(0, tt.now); !(math.Abs(got-tt.want) <= 1e-9) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if got := f.Share(1, tt.now); got != 0 {
				t.Errorf("unknown endpoint: got %v, want 0", got)
			}
		})
	}
}
