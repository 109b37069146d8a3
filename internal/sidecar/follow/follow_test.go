package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestOthers: what other processes decided is passed on where it is wanted, and passed over elsewhere.
func TestOthers(t *testing.T) {
	e, ingest := newEnvoy(t)
	_, own, _ := start(t, ingest, false)
	all := &told{}
	f := newFollower(ingest, all, 5*time.Millisecond)
	f.Others = true
	go f.Run(t.Context())
	e.relay("m1", 2)
	e.decide("m1", 1)
	expect(t, own, "decided m1 other")
	expect(t, all, "another's", "another's", "decided m1 other")
	e.restart()
	e.decide("m1", 1)
	expect(t, own, "gone", "decided m1 other")
	expect(t, all, "gone", "decided m1 other") // the other processes go on
}

func TestFollowsAcrossRestartsOfEnvoy(t *testing.T) {
	e, ingest := newEnvoy(t)
	e.topology.Endpoints = []snapshot.Endpoint{{Name: "vllm-0", Address: "10.0.0.1:8000"}}
	f, s, _ := start(t, ingest, true)
	e.decide("m1", 2)
	expect(t, s, "decided m1 vllm-0", "decided m1 vllm-0")
	e.restart()
	e.decide("m2", 1)
	expect(t, s, "gone", "decided m2 vllm-0")
	e.restart()
	e.decide("m2", 1)
	expect(t, s, "gone", "decided m2 vllm-0") // the first one is gone already
	if got := f.Names().Of(journal.ModelName, 5); got != Other {
		t.Errorf("an unknown model is called %q, want %q", got, Other)
	}
	for end := time.Now().Add(10 * time.Second); f.Now().Restarts != 2 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if got := f.Now(); got.Restarts != 2 || got.Missed != 0 || got.Failure != "" {
		t.Errorf("got %+v, want two restarts and nothing missed", got)
	}
}

// TestInstancesOfManyConfigurations: of a process in which plug-ins were configured again and again it is told that the
// last instances are gone.
func TestInstancesOfManyConfigurations(t *testing.T) {
	e, ingest := newEnvoy(t)
	f, s, _ := start(t, ingest, true)
	e.decide("m", 1)
	expect(t, s, "decided m other")
	f.asking.Lock()
	for instance := uint64(1000); len(f.instances) < MostInstances; instance++ {
		f.instances.Note(instance)
	}
	f.asking.Unlock()
	e.configure()
	e.decide("m", 1)
	expect(t, s, "decided m other")
	e.restart()
	e.decide("m", 1)
	expect(t, s, "gone", "decided m other")
}

func TestFollowsWhereTheFormerProcessEnded(t *testing.T) {
	e, ingest := newEnvoy(t)
	_, s, stop := start(t, ingest, true)
	e.decide("m", 2)
	expect(t, s, "decided m other", "decided m other")
	stop()
	e.decide("m", 1)
	_, s, stop = start(t, ingest, true)
	expect(t, s, "old", "old", "decided m other")
	stop()
	_, s, _ = start(t, ingest, false)
	expect(t, s, "decided m other", "decided m other", "decided m other")
}

// TestKeepsWhatWasNotHeard: a position that a question without an answer was to have kept goes along with the next one.
func TestKeepsWhatWasNotHeard(t *testing.T) {
	e, ingest := newEnvoy(t)
	s := &told{}
	f := newFollower(ingest, s, time.Hour)
	f.Keep = s.kept
	e.decide("m", 1)
	go f.Run(t.Context())
	expect(t, s, "decided m other")
	away := errors.New("away")
	for _, want := range []struct {
		keeps bool
		err   error
	}{{true, away}, {true, away}, {true, nil}, {false, nil}} {
		if err := f.Ride(t.Context(), func(query string) ([]byte, error) {
			if keeps := strings.Contains(query, "&keep="); keeps != want.keeps {
				t.Errorf("asks %q, want a position to keep: %v", query, want.keeps)
			}
			if want.err != nil {
				return nil, want.err
			}
			return f.get(t.Context(), journalPath+query, new(bytes.Buffer))
		}); !errors.Is(err, want.err) {
			t.Errorf("got %v, want %v", err, want.err)
		}
	}
}

// TestRide: what another exchange brings back is told, once, and needs no question of its own.
func TestRide(t *testing.T) {
	e, ingest := newEnvoy(t)
	s := &told{}
	f := newFollower(ingest, s, time.Hour)
	ride := func(answers bool) {
		t.Helper()
		if err := f.Ride(t.Context(), func(query string) ([]byte, error) {
			if !answers {
				return nil, nil
			}
			return f.get(t.Context(), journalPath+query, new(bytes.Buffer))
		}); err != nil {
			t.Error(err)
		}
	}
	ride(false) // nobody follows yet
	e.decide("m", 1)
	go f.Run(t.Context())
	expect(t, s, "decided m other")
	e.decide("m", 2)
	ride(false)
	ride(true)
	ride(true)
	expect(t, s, "decided m other", "decided m other")
	if got := f.Now(); got.Events != 3 || got.Failure != "" {
		t.Errorf("stands at %+v, want behind 3 events", got)
	}
	none := func(string) ([]byte, error) { return []byte("hello"), nil }
	if err := f.Ride(t.Context(), none); err != nil || f.Now().Failure == "" {
		t.Errorf("an answer that is none: got %v and %+v, want the failure there alone", err, f.Now())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.asked) != 3 {
		t.Errorf("was asked %d times, want once by itself and twice along the way", len(e.asked))
	}
}

// TestFull: as long as the sink has no room nothing is asked, and what is posted goes its way without a question.
func TestFull(t *testing.T) {
	e, ingest := newEnvoy(t)
	var full atomic.Bool
	s := &told{}
	f := newFollower(ingest, s, 5*time.Millisecond)
	f.Full = full.Load
	go f.Run(t.Context())
	e.decide("m", 1)
	expect(t, s, "decided m other")
	full.Store(true)
	f.asking.Lock() // a question under way has its answer
	asked := f.asked
	f.asking.Unlock()
	e.decide("m", 1)
	if err := f.Ride(t.Context(), func(query string) ([]byte, error) {
		if query != "" {
			t.Errorf("asks %q along the way, want nothing", query)
		}
		return nil, nil
	}); err != nil {
		t.Error(err)
	}
	for wait, due := f.Interval, time.Now().Add(time.Second); wait > 0 && time.Now().Before(due); {
		f.asking.Lock()
		wait = time.Until(f.due())
		f.asking.Unlock()
	}
	if _, more, err := f.askWhenDue(t.Context()); more || err != nil {
		t.Errorf("got %v, %v, want nothing more to ask", more, err)
	}
	f.asking.Lock()
	if !f.asked.Equal(asked) {
		t.Error("asks, want it to wait")
	}
	f.asking.Unlock()
	full.Store(false)
	expect(t, s, "decided m other")
}

func TestTellsWhatItMissed(t *testing.T) {
	e, ingest := newEnvoy(t)
	f, s, stop := start(t, ingest, false)
	e.decide("m", 1)
	expect(t, s, "decided m other")
	stop()
	e.decide("m", 3000) // more than the log keeps
	at := f.reader.At()
	f, s, stop = start(t, ingest, false)
	stop()
	s.all, f.From = nil, at
	ctx, cancel := context.WithCancel(context.Background())
	go f.Run(ctx)
	defer cancel()
	all := s.take(t, 100)
	missed := 0
	if _, err := fmt.Sscanf(all[0], "missed %d", &missed); err != nil || missed < 100 {
		t.Errorf("told %q first, want what is missed", all[0])
	}
}

// TestTellsWhatNobodyRead: what the log no longer has of the time between a former process and this one is missed, and
// counted.
func TestTellsWhatNobodyRead(t *testing.T) {
	for _, test := range []struct {
		name         string
		keeps        bool
		between      int
		first        string // what is told first
		missedEvents bool
	}{
		{"all is there", true, 1, "old", false},
		{"more than the log keeps", true, 3000, "missed ", true},
		{"nobody counted before", false, 3000, "decided m other", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, ingest := newEnvoy(t)
			e.decide("m", 2)
			_, s, stop := start(t, ingest, test.keeps)
			expect(t, s, "decided m other", "decided m other")
			stop()
			e.decide("m", test.between)
			f, s, _ := start(t, ingest, test.keeps)
			told := s.take(t, 3)
			for end := time.Now().Add(10 * time.Second); f.Now().Answered.IsZero() && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if !strings.HasPrefix(told[0], test.first) {
				t.Errorf("told %q first, want %q", told[0], test.first)
			}
			stats := f.Now().FollowerStats
			if missed := stats.Missed > 0; missed != test.missedEvents ||
				missed && stats.Missed+stats.Events != uint64(test.between) {
				t.Errorf("got %+v, want the %d events in between, all or with what is missed", stats, test.between)
			}
		})
	}
}

func TestSaysWhyItCannotFollow(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		text   string
		want   string
	}{
		{"no plug-in, or a filter that knows no followers", 404, "",
			"it lacks the plug-in with this port or socket as its ingest, or its filter is of a version that cannot"},
		{"a filter of another release", 200, "PNF\x02" + strings.Repeat("\x00", 100),
			"in version 2 of the format, which this pintle does not read: use one of the filter's release"},
		{"something else", 200, "hello", "the answer of 5 bytes is none of a journal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, ingest := newEnvoy(t)
			e.status, e.text = test.status, test.text
			f, _, _ := start(t, ingest, true)
			for end := time.Now().Add(10 * time.Second); f.Now().Failure == "" && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if got := f.Now().Failure; !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}

// TestKeepsOnce: Envoy is told a position to keep, and not again before there is another one.
func TestKeepsOnce(t *testing.T) {
	e, ingest := newEnvoy(t)
	s := &told{}
	f := newFollower(ingest, s, time.Millisecond)
	f.Keep = s.kept
	go f.Run(t.Context())
	e.decide("m", 1)
	expect(t, s, "decided m other")
	var asked []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		e.mu.Lock()
		asked = slices.Clone(e.asked)
		e.mu.Unlock()
		if kept := slices.IndexFunc(asked, keeps); kept >= 0 && len(asked) > kept+5 {
			break
		}
	}
	kept := 0
	for _, query := range asked {
		if keeps(query) {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("a position to keep was told %d times, want once:\n%s", kept, strings.Join(asked, "\n"))
	}
}

// keeps reports whether a question tells a position to keep.
func keeps(query string) bool { return strings.Contains(query, "&keep=") }
