package precise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// said takes what waits for the first Envoy, as text.
func (b *Background) said(t *testing.T) (all []string) {
	t.Helper()
	return heard(t, b.next(b.envoys[0]))
}

// heard is what an Envoy understands of events, as text.
func heard(t *testing.T, events []byte) (all []string) {
	t.Helper()
	names := map[uint64]string{journal.EndpointID("a"): "a", journal.EndpointID("b"): "b"}
	var e journal.Event
	for len(events) > 0 {
		size, ok := e.Decode(events)
		if !ok || e.Kind != journal.Held || e.Instance == 0 {
			t.Fatalf("got %+v, %v", e, ok)
		}
		events = events[size:]
		line := names[e.Primary] + " forgot all"
		if len(e.Chains) > 0 {
			line = fmt.Sprint(names[e.Primary], " has ", e.Held, " of ", e.Chains[0].Blocks)
		}
		all = append(all, line)
	}
	return all
}

// inBackground has a service learn after decisions and tell Envoys.
func inBackground(s *Service, envoys ...config.Ingest) *Background {
	b := &Background{Index: s.Blocks.Index, Blocks: s.Blocks, Tokens: s.Tokens, Endpoints: s.Endpoints, Token: s.Token,
		Ingests: envoys, Log: s.Log}
	b.Start()
	s.Background, s.Blocks.Index = b, b
	return b
}

// fourBlocks is a prompt of 10 tokens and 40 bytes: two whole blocks of 4 tokens are 32 bytes, which are four blocks of
// text of 8 bytes.
func fourBlocks() *scoring.PrecisePrompt {
	return &scoring.PrecisePrompt{API: "completions", Chain: state.Chain{BlockBytes: 8}.ID(),
		Blocks: []uint64{71, 72, 73, 74, 75}, TextBytes: 40, Body: []byte(`{"model":"m","prompt":"a"}`)}
}

// TestBackground: of a prompt that was handed over it is told which blocks of its text servers have, whenever they say
// so.
func TestBackground(t *testing.T) {
	s := newService(t, tenTokens)
	b := inBackground(s, config.Ingest{Name: "an Envoy"})
	ctx := context.Background()
	prompt := kvindex.Prompt{Tokens: []uint32{1, 2, 3, 4, 5, 6, 7, 8}}
	keys := kvindex.Keys(nil, s.Blocks.Root("", "m"), 4, &prompt)
	at := func(name string) kvindex.Publisher { return kvindex.Publisher{Endpoint: name} }
	handed := fourBlocks()
	add := func(name string, tier kvindex.Tier, hashes []uint64, keys []kvindex.Key) func() error {
		return func() error { return s.Blocks.Add(ctx, at(name), tier, hashes, keys) }
	}
	evict := func(tier kvindex.Tier, hashes ...uint64) func() error {
		return func() error { _, err := s.Blocks.Evict(ctx, at("a"), tier, hashes); return err }
	}
	hand := func() error {
		if w := s.ask(PromptsPath, "secret-token", string(handed.AppendTo(nil))); w.Code != 204 {
			return fmt.Errorf("got %d", w.Code)
		}
		p := <-b.waiting
		if b.learn(ctx, &p) != nil {
			return fmt.Errorf("nothing is learnt")
		}
		return nil
	}
	for _, step := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"nothing is known of the text", add("a", kvindex.GPU, []uint64{1}, keys[:1]), nil},
		{"handed over", hand, []string{"a has 2 of [71 72]"}},
		{"handed over again", hand, nil},
		{"more is stored", add("a", kvindex.GPU, []uint64{2}, keys[1:]), []string{"a has 4 of [71 72 73 74]"}},
		{"all at once", add("b", kvindex.GPU, []uint64{1, 2}, keys), []string{"b has 4 of [71 72 73 74]"}},
		{"offloaded", add("a", kvindex.CPU, []uint64{2}, keys[1:]), []string{"a has 4 of [71 72 73 74]"}},
		{"still on the CPU", evict(kvindex.GPU, 2), nil},
		{"gone", evict(kvindex.CPU, 2), []string{"a has 0 of [73 74]"}},
		{"cleared", func() error { return s.Blocks.Clear(ctx, at("b")) }, []string{"b forgot all"}},
		{"cleared again", func() error { return s.Blocks.Clear(ctx, at("b")) }, nil},
		{"told of again", hand, []string{"a has 2 of [71 72]"}},
		{"left", func() error { return s.Blocks.Drop(ctx, "a") }, []string{"a forgot all"}},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := b.said(t); !slices.Equal(got, step.want) {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
	b.Take([]byte("no prompt at all, and much longer than a head"))
	if len(b.waiting) != 0 {
		t.Error("nonsense is taken for a prompt")
	}
}

// TestPromptsThatBeginAlike: prompts of other texts may begin with the same tokens, as with tools before their texts.
// However many there are, what a server says of these blocks is told of the latest, and of another one once it comes
// again.
func TestPromptsThatBeginAlike(t *testing.T) {
	s := newService(t, tenTokens)
	b := inBackground(s, config.Ingest{Name: "an Envoy"})
	ctx := context.Background()
	const prompts = 10 * mostAlike
	hand := func(i uint64) {
		p := fourBlocks()
		p.Blocks = []uint64{10*i + 1, 10*i + 2, 10*i + 3, 10*i + 4, 10*i + 5}
		if b.learn(ctx, p) != nil {
			t.Fatal("nothing is learnt")
		}
	}
	told := func(i uint64) string {
		return fmt.Sprint("a has 4 of ", []uint64{10*i + 1, 10*i + 2, 10*i + 3, 10*i + 4})
	}
	for i := range uint64(prompts) {
		hand(i)
	}
	prompt := kvindex.Prompt{Tokens: []uint32{1, 2, 3, 4, 5, 6, 7, 8}}
	keys := kvindex.Keys(nil, s.Blocks.Root("", "m"), 4, &prompt)
	if err := s.Blocks.Add(ctx, kvindex.Publisher{Endpoint: "a"}, kvindex.GPU, []uint64{1, 2}, keys); err != nil {
		t.Fatal(err)
	}
	if said := b.said(t); len(said) > mostAlike || !slices.Contains(said, told(prompts-1)) {
		t.Errorf("got %d events, want %d at most, and %q among them", len(said), mostAlike, told(prompts-1))
	}
	hand(0)
	if said := b.said(t); !slices.Equal(said, []string{told(0)}) {
		t.Errorf("a prompt that comes again: got %q, want %q", said, told(0))
	}
}

// TestSaidAgainWhateverTheClock: what was told a minute ago is told again, though the clock was set back meanwhile. A
// time has what the clock said beside what differences are made of; only the former is set back here.
func TestSaidAgainWhateverTheClock(t *testing.T) {
	s := newService(t, tenTokens)
	b := inBackground(s, config.Ingest{Name: "an Envoy"})
	ctx := t.Context()
	prompt := kvindex.Prompt{Tokens: []uint32{1, 2, 3, 4, 5, 6, 7, 8}}
	keys := kvindex.Keys(nil, s.Blocks.Root("", "m"), 4, &prompt)
	if err := s.Blocks.Add(ctx, kvindex.Publisher{Endpoint: "a"}, kvindex.GPU, []uint64{1, 2}, keys); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, step := range []struct {
		name  string
		after time.Duration
		want  []string
	}{
		{"at first", 0, []string{"a has 4 of [71 72 73 74]"}},
		{"at once", time.Second, nil},
		{"after a minute", 2 * time.Minute, []string{"a has 4 of [71 72 73 74]"}},
	} {
		at := began.Add(step.after)
		if step.after > 0 {
			*(*uint64)(unsafe.Pointer(&at)) -= 3600 << 30 // the seconds are above 30 bits of nanoseconds
		}
		b.clock = func() time.Time { return at }
		if b.learn(ctx, fourBlocks()) != nil {
			t.Fatal("nothing is learnt")
		}
		if got := b.said(t); !slices.Equal(got, step.want) {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
}

// TestWhatRanksForget: what was told of one rank's blocks after another one had lost all of its own is taken back when
// these are lost, too, as when a server with several ranks dies and a prompt is handed over between.
func TestWhatRanksForget(t *testing.T) {
	s := newService(t, tenTokens)
	b := inBackground(s, config.Ingest{Name: "an Envoy"})
	ctx := t.Context()
	prompt := kvindex.Prompt{Tokens: []uint32{1, 2, 3, 4, 5, 6, 7, 8}}
	keys := kvindex.Keys(nil, s.Blocks.Root("", "m"), 4, &prompt)
	rank := func(n int) kvindex.Publisher { return kvindex.Publisher{Endpoint: "a", Rank: n} }
	for n := range 2 {
		if err := s.Blocks.Add(ctx, rank(n), kvindex.GPU, []uint64{1, 2}, keys); err != nil {
			t.Fatal(err)
		}
	}
	lose := func(n int) func() error { return func() error { return s.Blocks.Clear(ctx, rank(n)) } }
	hand := func() error {
		if b.learn(ctx, fourBlocks()) != nil {
			return errors.New("nothing is learnt")
		}
		return nil
	}
	for _, step := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"one rank is gone", lose(0), []string{"a forgot all"}},
		{"a prompt is handed over", hand, []string{"a has 4 of [71 72 73 74]"}},
		{"the other one is gone", lose(1), []string{"a forgot all"}},
		{"gone again", lose(1), nil},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := b.said(t); !slices.Equal(got, step.want) {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
}

// TestSaidAgainOfAllSizes: what was told a minute ago is told again of servers with blocks of either size, as they run
// side by side during an upgrade.
func TestSaidAgainOfAllSizes(t *testing.T) {
	s := newService(t, tenTokens)
	b := inBackground(s, config.Ingest{Name: "an Envoy"})
	ctx := t.Context()
	prompt := kvindex.Prompt{Tokens: []uint32{1, 2, 3, 4, 5, 6, 7, 8}}
	for name, size := range map[string]int{"a": 4, "b": 8} {
		s.Blocks.SetBlockTokens(name, size)
		keys := kvindex.Keys(nil, s.Blocks.Root("", "m"), size, &prompt)
		if err := s.Blocks.Add(ctx, kvindex.Publisher{Endpoint: name}, kvindex.GPU, []uint64{1, 2}[:len(keys)],
			keys); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	both := []string{"a has 4 of [71 72 73 74]", "b has 4 of [71 72 73 74]"}
	for _, step := range []struct {
		name  string
		after time.Duration
		want  []string
	}{
		{"at first", 0, both}, {"at once", time.Second, nil}, {"after a minute", 2 * time.Minute, both},
		{"after another one", 4 * time.Minute, both}, {"at once again", 4*time.Minute + time.Second, nil},
	} {
		b.clock = func() time.Time { return began.Add(step.after) }
		if b.learn(ctx, fourBlocks()) != nil {
			t.Fatal("nothing is learnt")
		}
		got := b.said(t)
		slices.Sort(got)
		if !slices.Equal(got, step.want) {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
}
