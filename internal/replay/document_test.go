package replay

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// TestHeadingTells: the heading says how many gateways decide, what a good answer is, and what of a recording is not
// there.
func TestHeadingTells(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(d *Document)
		want   []string // behind what was replayed before which servers
	}{
		{"nothing", func(*Document) {}, nil},
		{"one gateway", func(d *Document) { d.Gateways, d.Lag = 1, -1 }, nil},
		{"gateways apart", func(d *Document) { d.Gateways, d.Lag = 2, -1 },
			[]string{"2 gateways, each of which knows its own requests"}},
		{"gateways that tell", func(d *Document) { d.Gateways, d.Lag = 3, 0 },
			[]string{"3 gateways, each of which knows of the others' requests 0.0 ms later"}},
		{"gateways that tell late", func(d *Document) { d.Gateways, d.Lag = 3, 0.25 },
			[]string{"3 gateways, each of which knows of the others' requests 250 ms later"}},
		{"fitted", func(d *Document) { d.Fitted = "fitted to it" }, []string{"fitted to it"}},
		{"a first token", func(d *Document) { d.Limits.TTFT = 12 }, []string{"good is a first token within 12.0 s"}},
		{"both limits", func(d *Document) { d.Limits = Limits{1, 0.02} },
			[]string{"good is a first token within 1000 ms and a time per token of at most 20.0 ms"}},
		{"limits that are asked for", func(d *Document) { d.Limits.TTFT, d.Asked = 12, true },
			[]string{"good is a first token within 12.0 s, which requests ask for"}},
		{"slower servers", func(d *Document) { d.Speeds = []float64{0.35, 1, 2} },
			[]string{"faster or slower by a factor: server-0 0.35, server-2 2"}},
		{"slower servers of a recording", func(d *Document) {
			d.Speeds, d.Endpoints = []float64{1, 0.5}, []scoring.Endpoint{{Name: "a"}, {Name: "b"}}
		}, []string{"faster or slower by a factor: b 0.5"}},
		{"adapters", func(d *Document) {
			d.Servers.Adapters, d.Servers.MaxAdapters, d.Servers.AdapterLoad = []string{"a", "b", "c"}, 2, time.Second
		}, []string{"LoRA adapters: 3, of which a server has 2 loaded; it loads one in 1s"}},
		{"servers as fast as others", func(d *Document) { d.Speeds = []float64{1} }, nil},
		{"a recording with gaps", func(d *Document) { d.Trace.Missed, d.Trace.Damaged, d.Trace.Unended = 1, 2, 3 },
			[]string{"1 events are missing in the recording", "2 places of the recording cannot be read",
				"3 requests had not ended, and are left out"}},
		{"failures", func(d *Document) { d.Trace.Failed = map[string]int{"shed": 2, "500": 1} },
			[]string{"refused or failed when it was recorded, and left out: 1 500, 2 shed"}},
		{"a note", func(d *Document) { d.Trace.Note = "no more" }, []string{"no more"}},
	} {
		d := Document{Name: "t", Scale: 2, Trace: &Trace{Format: "Azure", Requests: []Request{{At: 3}, {At: 1}}},
			Servers: DefaultServers()}
		tc.change(&d)
		lines := d.Heading()
		if want := "t: 2 requests in 3000 ms (Azure), at 2 times the rate"; lines[0] != want {
			t.Errorf("%s: got %s, want %s", tc.name, lines[0], want)
		}
		if !slices.Equal(lines[2:], tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, lines[2:], tc.want)
		}
	}
}

// TestReportsInWords: what is known of a report has a unit, and what is not is a line in text and null in JSON.
func TestReportsInWords(t *testing.T) {
	nan := math.NaN()
	d := Document{Trace: &Trace{}, Servers: DefaultServers(), Reports: []*Report{{Name: "r", Requests: 4,
		TTFT: Quantiles{1, 0.05, 2, 12}, TPOT: Quantiles{nan, nan, nan, nan}, Whole: Quantiles{3, 3, 3, 3}, Hits: 0.125,
		Predicted: nan, Imbalance: 1.5, Good: 0.5, GoodPerSecond: 2,
		Refusals: map[string]int{"shed": 2, "busy": 1}}, {Name: "s"}}}
	var out bytes.Buffer
	if err := d.Write(&out, "text"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for back, want := range []string{"s " + strings.Repeat("0.0 ms ", 9) + "0.0 % 0.0 % 0.00 0.0 % 0.00 0",
		"r 50.0 ms 2000 ms 12.0 s - - - 3000 ms 3000 ms 3000 ms 12.5 % - 1.50 50.0 % 2.00 1 busy, 2 shed"} {
		if got := strings.Join(strings.Fields(lines[len(lines)-1-back]), " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	out.Reset()
	if err := d.Write(&out, "json"); err != nil {
		t.Fatal(err)
	}
	var got struct{ Reports []map[string]any }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	times := func(mean, p50, p90, p99 any) map[string]any {
		return map[string]any{"mean": mean, "p50": p50, "p90": p90, "p99": p99}
	}
	want := map[string]any{"name": "r", "requests": 4.0, "ttft": times(1.0, 0.05, 2.0, 12.0),
		"tpot": times(nil, nil, nil, nil), "whole": times(3.0, 3.0, 3.0, 3.0), "hits": 0.125, "predicted": nil,
		"imbalance": 1.5, "good": 0.5, "goodPerSecond": 2.0, "refusals": map[string]any{"shed": 2.0, "busy": 1.0}}
	if !reflect.DeepEqual(got.Reports[0], want) {
		t.Errorf("got  %v\nwant %v", got.Reports[0], want)
	}
}

// TestLostInJSON: JSON says, too, what of a recording is not there.
func TestLostInJSON(t *testing.T) {
	d := Document{Trace: &Trace{Missed: 1, Damaged: 2, Unended: 3}, Servers: DefaultServers()}
	var out bytes.Buffer
	if err := d.Write(&out, "json"); err != nil {
		t.Fatal(err)
	}
	var got struct{ Missed, Damaged, Unended int }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Missed != 1 || got.Damaged != 2 || got.Unended != 3 {
		t.Errorf("got %+v, %v, want 1 event missed, 2 places damaged and 3 requests that had not ended", got, err)
	}
}

// TestReadCompressed: a trace that is compressed is the trace, and one that is cut off is none.
func TestReadCompressed(t *testing.T) {
	plain, err := os.ReadFile("testdata/mooncake.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Read(bytes.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(plain)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(bytes.NewReader(zipped.Bytes())); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want what the plain trace is", got, err)
	}
	for _, n := range []int{2, 9, zipped.Len() / 2, zipped.Len() - 1} {
		if got, err := Read(bytes.NewReader(zipped.Bytes()[:n])); err == nil {
			t.Errorf("the first %d of %d bytes: got %d requests, want an error", n, zipped.Len(), len(got.Requests))
		}
	}
}

// TestReadInOrder: a trace begins with its first request, wherever in the file that stands and whenever it came.
func TestReadInOrder(t *testing.T) {
	const azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	row := func(at, tokens int) string { return fmt.Sprintf(`{"timestamp": %d, "input_length": %d}`, at, tokens) }
	for _, tc := range []struct{ name, text string }{
		{"Mooncake", row(5000, 1) + row(8000, 2)},
		{"Mooncake, in another order", row(8000, 2) + row(5000, 1)},
		{"Azure", azure + "2024-05-10 00:00:05,1,1\n2024-05-10 00:00:08,2,1\n"},
		{"Azure, in another order", azure + "2024-05-10 00:00:08,2,1\n2024-05-10 00:00:05,1,1\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			trace, err := Read(strings.NewReader(tc.text))
			if err != nil || len(trace.Requests) != 2 {
				t.Fatalf("got %+v, %v, want 2 requests", trace, err)
			}
			for i, want := range []Request{{At: 0, Input: 1}, {At: 3, Input: 2}} {
				if got := trace.Requests[i]; got.At != want.At || got.Input != want.Input {
					t.Errorf("request %d: %d tokens after %v s, want %d after %v s", i, got.Input, got.At, want.Input,
						want.At)
				}
			}
			if got := run(t, random, trace.Requests, Options{Servers: DefaultServers()}); len(got) != 2 {
				t.Errorf("%d requests are decided, want 2", len(got))
			}
		})
	}
}
