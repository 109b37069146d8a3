package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/state"
)

func read(t testing.TB, file string) *Trace {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	trace, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func run(t testing.TB, config string, requests []Request, o Options) []Sample {
	t.Helper()
	c, err := pluginconfig.Parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	samples, err := Run(context.Background(), c.Plan, requests, o)
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

const random = `{"plugins": [{"type": "random-picker"}]}`

func TestReadTraces(t *testing.T) {
	m := read(t, "mooncake.jsonl")
	if m.Format != "Mooncake" || len(m.Requests) != 18 {
		t.Fatalf("%s: %d requests, want 18", m.Format, len(m.Requests))
	}
	first := m.Requests[0]
	if first.Prompt.UnitBytes != 2048 || first.Prompt.Bytes != 4*first.Input ||
		len(first.Prompt.Blocks) != (first.Input+511)/512 {
		t.Errorf("the first request is %+v", first)
	}
	a := read(t, "azure.csv")
	if a.Format != "Azure" || len(a.Requests) != 12 || a.Requests[0].At != 0 ||
		a.Requests[11].At <= a.Requests[10].At || a.Note == "" {
		t.Errorf("%+v", a)
	}
	seen := map[uint64]bool{}
	for _, r := range a.Requests {
		for _, b := range r.Prompt.Blocks {
			if seen[b] {
				t.Error("two prompts have a block in common")
			}
			seen[b] = true
		}
	}
}

// TestReadMarked: a text may begin with a byte order mark.
func TestReadMarked(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"Mooncake", `{"timestamp": 0, "input_length": 1}`},
		{"Azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n2026-01-01 00:00:00,1,1\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			trace, err := Read(strings.NewReader("\ufeff" + tc.text))
			if err != nil || trace.Format != tc.name || len(trace.Requests) != 1 {
				t.Errorf("got %+v, %v, want one request of a trace of %s", trace, err, tc.name)
			}
		})
	}
}

// A trace whose times are rounded coarsely says so.
func TestReadCrowded(t *testing.T) {
	row := func(at int) string { return fmt.Sprintf(`{"timestamp": %d, "input_length": 1}`, at) }
	for _, tc := range []struct{ name, rows, want string }{
		{"one moment", row(0) + row(0), "its 2 requests came at 1 moments"},
		{"half of them", row(0) + row(0) + row(3000) + row(3000), "its 4 requests came at 2 moments"},
		{"fewer", row(0) + row(0) + row(3000), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			trace, err := Read(strings.NewReader(tc.rows))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(trace.Note, tc.want) || tc.want == "" && trace.Note != "" {
				t.Errorf("note %q, want %q", trace.Note, tc.want)
			}
		})
	}
}

// TestAzureTimes: the traces of 2023 have times without a zone, those of 2024 with one, with a fraction or without.
func TestAzureTimes(t *testing.T) {
	for _, tc := range []struct{ name, first, second string }{
		{"2023", "2023-11-16 18:15:46.6805900", "2023-11-16 18:15:47.9305900"},
		{"2024", "2024-05-10 23:59:59.750000+00:00", "2024-05-11 00:00:01+00:00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := fmt.Sprintf("TIMESTAMP,ContextTokens,GeneratedTokens\n%s,374,44\n%s,2162,5\n", tc.first, tc.second)
			trace, err := Read(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if got := trace.Requests[1].At; got != 1.25 {
				t.Errorf("the second request came after %v s, want 1.25", got)
			}
		})
	}
}

func TestReadMistakes(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "is empty"},
		{"foreign", "hello", "is no recording"},
		{"no timestamp", `{"input_length": 1}`, "request 1: timestamp is missing"},
		{"no tokens", `{"timestamp": 0, "output_length": 1}`, "request 1: input_length is missing"},
		{"negative", `{"timestamp": 0, "input_length": -1}`, "request 1: -1 tokens in"},
		{"too many tokens", `{"timestamp": 0, "input_length": 16777217}`, "request 1: 16777217 tokens in"},
		{"too many tokens out", `{"timestamp": 0, "input_length": 1, "output_length": 16777217}`,
			"request 1: 1 tokens in and 16777217 out; want 0 to 16777216"},
		{"blocks of another length", `{"timestamp": 0, "input_length": 600, "hash_ids": [1, 2, 3, 4, 5]}`,
			"request 1: hash_ids has 5 blocks for 600 tokens; want one for each 512"},
		{"cut", `{"timestamp": 0, "input_length": 1}` + "\n" + `{"timesta`, "request 2: unexpected EOF"},
		{"columns", "TIMESTAMP,A,B\n", "line 1"},
		{"too few columns", "TIMESTAMP\n", "line 1"},
		{"number", "TIMESTAMP,ContextTokens,GeneratedTokens\n2026-01-01 00:00:00.0,x,1\n", "line 2"},
		{"no rows", "TIMESTAMP,ContextTokens,GeneratedTokens\n", "has no requests"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestReadBroken: of a file that cannot be read, such as a folder, it is not said that it is empty.
func TestReadBroken(t *testing.T) {
	broken := errors.New("is a directory")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// Prompts that are equal up to a block of the trace have equal hashes up to there, however they are cut, and none
// behind it.
func TestAppendChain(t *testing.T) {
	a := Prompt{Bytes: 5000, UnitBytes: 2048, Blocks: []uint64{1, 2, 3}}
	b := Prompt{Bytes: 6144, UnitBytes: 2048, Blocks: []uint64{1, 2, 4}}
	for _, tc := range []struct{ size, blocks, equal int }{{64, 78, 64}, {256, 19, 16}, {2048, 2, 2}, {4096, 1, 1},
		{5000, 1, 0}} {
		chain := state.Chain{BlockBytes: tc.size}
		x, y := a.AppendChain(nil, "m", chain, 1000), b.AppendChain(nil, "m", chain, 1000)
		equal := 0
		for equal < min(len(x), len(y)) && x[equal] == y[equal] {
			equal++
		}
		if len(x) != tc.blocks || equal != tc.equal {
			t.Errorf("blocks of %d bytes: %d, %d of them equal; want %d, %d", tc.size, len(x), equal, tc.blocks,
				tc.equal)
		}
		if z := a.AppendChain(nil, "n", chain, 1); slices.Equal(z, x[:1]) {
			t.Error("another model has the same blocks")
		}
		if got := a.AppendChain(nil, "m", chain, 1); len(got) != 1 {
			t.Errorf("%d blocks, want at most 1", len(got))
		}
	}
	begun := Prompt{Bytes: 5000, UnitBytes: 2048, Blocks: []uint64{1}} // nothing is known of the rest
	if got := begun.AppendChain(nil, "m", state.Chain{BlockBytes: 512}, 1000); len(got) != 4 {
		t.Errorf("%d blocks of a prompt of which 2048 bytes are known, want 4", len(got))
	}
	if got := a.AppendChain(nil, "m", state.Chain{BlockBytes: 64, Leading: true}, 1); got[0] == a.AppendChain(nil, "m",
		state.Chain{BlockBytes: 64}, 1)[0] {
		t.Error("another way of hashing has the same blocks")
	}
}

// One server, whose times can be computed by hand: 1,000 tokens a second in, 100 out.
func TestTimes(t *testing.T) {
	like := Servers{Count: 1, MaxRunning: 2, BlockTokens: 16, Blocks: 1000, PrefillTokensPerSecond: 1000,
		TimePerOutputToken: 10 * time.Millisecond}
	unique := func(at float64, seed uint64, in, out int) Request {
		return Request{At: at, Model: "m", Input: in, Output: out, Prompt: uniquePrompt(seed, in)}
	}
	again := unique(10, 1, 1024, 1)
	requests := []Request{unique(0, 1, 1024, 101), unique(0, 2, 500, 1), unique(0, 3, 500, 2), again,
		unique(20, 4, 20_000, 1)}
	got := run(t, random, requests, Options{Servers: like})
	want := []Sample{
		{TTFT: 1.024, Whole: 2.024, TPOT: .01, Input: 1024, Output: 101},
		{TTFT: 1.524, Whole: 1.524, Input: 500, Output: 1},
		// It waits for a slot until the second is done.
		{TTFT: 2.024, Whole: 2.034, TPOT: .01, Input: 500, Output: 2},
		// One block at least is computed.
		{At: 10, TTFT: .016, Whole: .016, Input: 1024, Output: 1, Cached: 1008},
		{At: 20, Input: 20_000, Output: 1, Server: -1, Refused: tooLong},
	}
	for i := range want {
		g, w := got[i], want[i]
		for _, pair := range [][2]float64{{g.TTFT, w.TTFT}, {g.Whole, w.Whole}, {g.TPOT, w.TPOT}} {
			if !(math.Abs(pair[0]-pair[1]) <= 1e-4) {
				t.Errorf("request %d: %+v, want %+v", i, g, w)
			}
		}
		if g.Cached != w.Cached || g.Server != w.Server || g.Refused != w.Refused || g.Input != w.Input ||
			g.Output != w.Output {
			t.Errorf("request %d: %+v, want %+v", i, g, w)
		}
	}
}

// A cache that is too small for two prompts forgets the end of the one that was used first.
func TestEviction(t *testing.T) {
	like := Servers{Count: 1, MaxRunning: 8, BlockTokens: 16, Blocks: 100, PrefillTokensPerSecond: 1e6,
		TimePerOutputToken: 0}
	prompt := func(at float64, seed uint64) Request {
		return Request{At: at, Model: "m", Input: 1024, Output: 1, Prompt: uniquePrompt(seed, 1024)}
	}
	got := run(t, random, []Request{prompt(0, 1), prompt(1, 1), prompt(2, 2), prompt(3, 1)}, Options{Servers: like})
	for i, want := range []int{0, 1008, 0, 512} {
		if got[i].Cached != want {
			t.Errorf("request %d found %d tokens, want %d", i, got[i].Cached, want)
		}
	}
}

// The same seed gives the same samples; a prefix scorer finds more than random choice.
func TestRunIsRepeatable(t *testing.T) {
	trace := read(t, "mooncake.jsonl")
	o := Options{Servers: DefaultServers(), Scale: 2, Seed: 3}
	a, b := run(t, random, trace.Requests, o), run(t, random, trace.Requests, o)
	if !reflect.DeepEqual(a, b) {
		t.Error("two runs with one seed differ")
	}
	warm := o
	warm.Warm = a[5].At
	if got := run(t, random, trace.Requests, warm); !reflect.DeepEqual(got, a[5:]) {
		t.Errorf("got %d of %d samples from %v s on, want those from the sixth on as they were", len(got), len(a),
			warm.Warm)
	}
	o.Seed = 4
	if reflect.DeepEqual(a, run(t, random, trace.Requests, o)) {
		t.Error("another seed changes nothing")
	}
	if last := trace.Requests[len(trace.Requests)-1].At / 2; a[len(a)-1].At != last {
		t.Errorf("the last request came at %v, want %v", a[len(a)-1].At, last)
	}
	shipped := Summarise("", run(t, `{}`, trace.Requests, o), o.Servers.Count, Limits{})
	if r := Summarise("", a, o.Servers.Count, Limits{}); !(shipped.Hits > r.Hits) || !(shipped.Predicted > 0) {
		t.Errorf("hits %v with prefixes, %v at random", shipped.Hits, r.Hits)
	}
}

// The page stands alone: no scripts, nothing from elsewhere, and names cannot break out of it.
func TestPage(t *testing.T) {
	trace := read(t, "mooncake.jsonl")
	o := Options{Servers: DefaultServers()}
	d := &Document{Trace: trace, Name: "<script>", Servers: o.Servers, Scale: 1, Reports: []*Report{
		Summarise("a&b", run(t, random, trace.Requests, o), o.Servers.Count, Limits{}),
		Summarise("nothing", nil, o.Servers.Count, Limits{}),
	}}
	var page strings.Builder
	if err := d.Write(&page, "html"); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(page.String(), `xmlns="http://www.w3.org/2000/svg"`, "")
	for _, bad := range []string{"<script", "http:", "https:", "NaN", "Inf", "src="} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if got := strings.Count(text, "<svg"); got != 5 || !strings.Contains(text, "a&amp;b") ||
		!strings.Contains(text, "&lt;script&gt;") {
		t.Errorf("%d plots in\n%s", got, text)
	}
}
