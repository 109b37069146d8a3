package responses

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// dropped is how many entries have gone for a reason.
func dropped(t *testing.T, m *Metrics, reason string) float64 {
	t.Helper()
	var value dto.Metric
	if err := m.dropped.WithLabelValues(reason).Write(&value); err != nil {
		t.Fatal(err)
	}
	return value.GetCounter().GetValue()
}

// TestEntriesExpire: an entry is there until its time is over, for whoever asks, and then counts as expired, once.
func TestEntriesExpire(t *testing.T) {
	const ttl = time.Hour
	start := time.Now()
	get := func(m *memory) error {
		_, err := m.Get(t.Context(), "r:")
		return err
	}
	for _, test := range []struct {
		name    string
		after   time.Duration
		do      func(m *memory) error
		want    error
		expired float64
		left    int
	}{
		{"looked up a moment before", ttl - 1, get, nil, 0, 1},
		{"looked up", ttl, get, ErrUnknown, 1, 0},
		{"deleted a moment before", ttl - 1, func(m *memory) error { return m.Delete(t.Context(), "r:") }, nil, 0, 0},
		{"deleted", ttl, func(m *memory) error { return m.Delete(t.Context(), "r:") }, ErrUnknown, 0, 1},
		{"swept a moment before", ttl - 1, func(m *memory) error { m.sweep(); return nil }, nil, 0, 1},
		{"swept", ttl, func(m *memory) error { m.sweep(); return nil }, nil, 1, 0},
		{"another one deleted", 0, func(m *memory) error { return m.Delete(t.Context(), "s:") }, ErrUnknown, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			metrics := newMetrics()
			m, err := newMemory(memoryOf(10, 1<<20).Memory, metrics, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			m.now = func() time.Time { return start }
			if err := m.Put(t.Context(), &Entry{ID: "r", Expires: start.Add(ttl), Response: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			m.now = func() time.Time { return start.Add(test.after) }
			if err := test.do(m); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if entries, bytes := m.size(); entries != test.left || bytes != int64(2*test.left) {
				t.Errorf("got %d entries of %d bytes, want %d of 2", entries, bytes, test.left)
			}
			if got := dropped(t, metrics, "expired"); got != test.expired {
				t.Errorf("%v entries count as expired, want %v", got, test.expired)
			}
		})
	}
}

// TestDecode: an entry is read as it was written, and not at all where a byte is missing or one is too many.
func TestDecode(t *testing.T) {
	e := &Entry{ID: "r", Tenant: "t", Previous: "p", Expires: time.UnixMilli(1_800_000_000_000), Before: []byte("1"),
		Input: []byte("2"), Response: []byte(`{"a":1}`)}
	text := e.encode(nil)
	if got, err := decode(text); err != nil || got.Key() != "r:t" || got.Previous != "p" ||
		!got.Expires.Equal(e.Expires) || string(got.InputItems()) != "1,2" || string(got.Response) != `{"a":1}` {
		t.Errorf("got %+v, %v, want %+v", got, err, e)
	}
	for n := range text {
		if got, err := decode(text[:n]); !errors.Is(err, errEncoding) {
			t.Errorf("the first %d of %d bytes: got %+v, %v, want %v", n, len(text), got, err, errEncoding)
		}
	}
	if got, err := decode(append(text, 0)); !errors.Is(err, errEncoding) {
		t.Errorf("a byte more: got %+v, %v, want %v", got, err, errEncoding)
	}
}
