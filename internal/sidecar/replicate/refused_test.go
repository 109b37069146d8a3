package replicate

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestRefusedIsTold: what all gateways of a stream have to agree about is told while somebody does otherwise, with what
// to do, and logged when it begins.
func TestRefusedIsTold(t *testing.T) {
	of := func(version byte) []byte {
		text := sealed(token, time.Now(), 1)
		text[3] = version
		return text
	}
	const began, gone = time.Minute, 40 * time.Second // ago: this gateway began, and another one said its last
	for _, test := range []struct {
		name  string
		text  []byte
		said  time.Duration // ago
		times int
		want  string // of what is told; empty for nothing
	}{
		{"an older version", of(entryVersion - 1), 0, 1, "entries of version 1 are refused, as this pintle reads " +
			"version 2: upgrade the gateways that write them"},
		{"a newer version", of(entryVersion + 1), 0, 1, "entries of version 3 are refused, as this pintle reads " +
			"version 2: upgrade this gateway"},
		{"time and again", of(entryVersion + 1), 0, 3, "upgrade this gateway"},
		{"another key", sealed("another key", time.Now(), 1), 0, 1, "have all gateways of the stream use one key"},
		{"no entry", []byte("x"), 0, 1, ""},
		{"of a gateway that is gone", of(entryVersion - 1), gone, 1, ""},
		{"from before the start", of(entryVersion - 1), began + time.Second, 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			m := &Member{Gateway: "a", metrics: newMetrics(), log: slog.New(slog.NewTextHandler(&log, nil))}
			m.reader = reader{Member: m, codec: newCodec(stream, func() string { return token }),
				refused: map[string]uint64{}, refusing: map[string]refused{}, began: time.Now().Add(-began)}
			for range test.times {
				_, err := m.reader.codec.open(test.text)
				if err == nil {
					t.Fatal("the entry is taken")
				}
				m.reader.refuse(err, streamID{High: uint64(time.Now().Add(-test.said).UnixMilli())})
			}
			got := m.Now(time.Now()).Failures
			lines := strings.Count(log.String(), "\n")
			if test.want == "" {
				if len(got) > 0 || lines > 0 {
					t.Errorf("got %q, and in the log %q, want nothing", got, log.String())
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0], test.want) || lines != 1 ||
				!strings.Contains(log.String(), test.want) {
				t.Errorf("got %q, and in the log %q, want each once %q", got, log.String(), test.want)
			}
			if later := m.Now(time.Now().Add(refusedAge + time.Second)).Failures; len(later) > 0 {
				t.Errorf("once nobody does so any more: got %q, want nothing", later)
			}
		})
	}
}

// TestRefusedByEnvoy: that Envoy does not take what others tell is told while it lasts, and logged when it begins,
// however many posts there are.
func TestRefusedByEnvoy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := &Member{Gateway: "a", metrics: newMetrics(), log: slog.New(slog.NewTextHandler(&log, nil))}
		m.reader = reader{Member: m, refused: map[string]uint64{}, refusing: map[string]refused{}}
		const posts = 100
		for range 2 {
			for range posts {
				time.Sleep(heartbeat)
				m.reader.refusedByEnvoy(errors.New("the ingest listener answered 400"))
			}
			s := m.Now(time.Now())
			if len(s.Failures) != 1 || !strings.Contains(s.Failures[0], "answered 400") ||
				s.Refused["envoy"]%posts != 0 {
				t.Errorf("got %+v, want that Envoy answered 400, and %d posts counted", s, posts)
			}
			if lines := strings.Count(log.String(), "\n"); lines != 1 {
				t.Errorf("got %d lines in the log, want 1:\n%s", lines, log.String())
			}
			log.Reset()
			time.Sleep(refusedAge + time.Second)
			if got := m.Now(time.Now()).Failures; len(got) > 0 {
				t.Errorf("once it takes them again: got %q, want nothing", got)
			}
		}
	})
}

// TestVersionsApart: two gateways whose releases write different versions say so of each other.
func TestVersionsApart(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	a := newGateway(t, "a", addressOf(v))
	harness.WaitFor(t, limit, "it to say what to do", func() (bool, string) {
		text := slices.Clone(sealed(token, time.Now(), 1))
		text[3] = entryVersion - 1
		appendRaw(t, client, text)
		got := a.member.Now(time.Now()).Failures
		return len(got) == 1 && strings.HasPrefix(got[0], "entries of version 1 are refused"), fmt.Sprint(got)
	})
}
