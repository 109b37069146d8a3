package main

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/wrk"
)

func TestDecided(t *testing.T) {
	for _, test := range []struct {
		name   string
		ratios series.Series
		want   string
	}{
		{"above", series.Series{0.98, 1, 1, 1, 1, 1.1}, "met"},
		{"below", series.Series{0.97, 0.97, 0.97, 0.97, 0.97, 0.979}, "not met"},
		{"on both sides", series.Series{0.97, 1, 1, 1, 1, 1}, "open: more rounds, or a quieter machine"},
		{"too few", series.Series{1, 1, 1, 1, 1}, "open: 5 rounds tell nothing for sure, 6 do"},
	} {
		if got := decided(test.ratios, 0.98); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		bar, got float64
		want     string
	}{{0.7, 0.7, "0.70 met"}, {0.7, 0.69, "0.70 not met"}, {0, 0.5, "none"}} {
		if got := verdict(test.bar, test.got); got != test.want {
			t.Errorf("bar %v, ratio %v: got %q, want %q", test.bar, test.got, got, test.want)
		}
	}
}

// TestPairedBar: where two are compared the row has the bar that the paired ratios below it are held against.
func TestPairedBar(t *testing.T) {
	all := followVariants("m")
	round := &measurement{Result: wrk.Result{Requests: 1000, Micros: 1e6}, cpu: time.Second}
	found := results{{round}, {round}}
	for _, size := range []int{2, 16} {
		var out strings.Builder
		writeRequests(&out, size, all, found, unjudged(all[1], size))
		row := strings.Split(out.String(), "\n")[1]
		if !strings.Contains(row, " 1.00 (1.00-1.00)       0.98  ") {
			t.Errorf("%d KB: got %q, want the bar 0.98", size, row)
		}
	}
}

func TestParseFlags(t *testing.T) {
	o, err := parseFlags(strings.Fields("-rounds 2 -seconds 4 -sizes 2,400 -compare a.wasm -compare b.wasm"))
	if err != nil || o.rounds != 2 || o.duration != 4*time.Second || len(o.sizes) != 2 || o.sizes[1] != 400 ||
		len(o.compare) != 2 {
		t.Errorf("got %+v, %v", o, err)
	}
	if o, err := parseFlags(strings.Fields("-follow -seconds 0.2 -last 5m")); err != nil || o.last != 5*time.Minute {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, test := range []struct{ args, want string }{
		{"-rounds 0", "-rounds of 1 or more"}, {"-seconds 0", "-seconds of 1s or more"},
		{"-store -seconds 0.05", "-seconds of 100ms or more"}, {"more", "want no arguments"},
		{"-sizes 0", `"0": want KB`}, {"-sizes 2,", `"": want KB`}, {"-sizes 99999", `"99999": want KB`},
		{"-seconds 1.5", "-seconds 1.5: want whole seconds"}, {"-journal -seconds 2.5", "want whole seconds"},
		{"-follow -last 500ms", "-last 500ms: want whole seconds"}, {"-follow -last -2s", "want whole seconds"},
		{"-journal -follow", "-journal, -follow: want one of them"}, {"-stream -store", "-stream, -store: want one"},
		{"-replicate -precise", "-replicate, -precise: want one"},
		{"-last 5s", "-last 5s: want -follow, too"}, {"-journal -last 5s", "-last 5s: want -follow, too"},
		{"-elsewhere 9", "-elsewhere 9: want -replicate, too"}, {"-follow -gap 1s", "-gap 1s: want -precise, too"},
		{"-redis redis://r", "-redis redis://r: want -store, too"}, {"-replicate -elsewhere -1", "want 0 or more"},
		{"-stream -instant", "-instant: -stream has servers of its own"},
		{"-follow -compare a.wasm", "-compare: further modules are measured"},
		{"-journal -compare a.wasm", "-compare: further modules are measured"},
	} {
		t.Run(test.args, func(t *testing.T) {
			_, err := parseFlags(strings.Fields(test.args))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want ...%s...", err, test.want)
			}
		})
	}
}

// The configurations are as different as their variants, and YAML.
func TestConfigs(t *testing.T) {
	all := variants("m.wasm", []string{"dir/other.wasm"})
	for _, v := range append(all, bareVariants(variants("m.wasm", nil))[1:]...) {
		t.Run(v.name, func(t *testing.T) {
			v.requestsPort, v.ingestPort = 11, 12
			text, err := v.config(13, []int{21, 22})
			if err != nil {
				t.Fatal(err)
			}
			var parsed map[string]any
			if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
				t.Fatal(err)
			}
			want := map[string]bool{
				"port_value: 22}": v.hold == "", "port_value: 12}": v.hold != "",
				"http_header: true": v.hold == "pause", "prefix-cache-scorer": v.hold != "" && !v.unfollowed,
				"max_request_bytes": v.hold == "buffer", "allow_on_headers_stop_iteration": v.hold == "pause",
				"dir/other.wasm": v.name == "other",
			}
			for part, there := range want {
				if strings.Contains(text, part) != there {
					t.Errorf("%q is there: %v, want %v", part, !there, there)
				}
			}
		})
	}
}
