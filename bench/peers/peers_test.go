package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/wrk"
)

func TestParseFlags(t *testing.T) {
	o, err := parseFlags(strings.Fields("-peers pintle,smg -sizes 2,16 -ladder 10,20.5 -seconds 2"))
	if err != nil || len(o.peers) != 2 || o.sizes[1] != 16 || o.ladder[1] != 20.5 || o.duration != 2*time.Second {
		t.Errorf("got %+v, %v", o, err)
	}
	if o, err = parseFlags(nil); err != nil || len(o.peers) != len(peers) {
		t.Errorf("got %+v, %v, want all peers", o, err)
	}
	for _, test := range []struct{ name, args, want string }{
		{"unknown peer", "-peers pintel", `"pintel": want some of pintle, pintle-buffer`},
		{"size", "-sizes 2,0", `"0": want a number above 0`},
		{"rate", "-ladder x", `"x": want a number above 0`},
		{"workload", "-workload all", `"all": want one of shared, mixed, burst, slow, dies`},
		{"rounds", "-rounds 0", "want no arguments"},
		{"argument", "x", "want no arguments"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseFlags(strings.Fields(test.args))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want ...%s...", err, test.want)
			}
		})
	}
}

func TestEnvoyBeforeAPicker(t *testing.T) {
	for _, health := range []bool{false, true} {
		var text bytes.Buffer
		err := extprocTemplate.Execute(&text, processing{AdminPort: 1, Port: 2, PickerPort: 3, Request: "BUFFERED",
			Response: "STREAMED", Trailers: "SKIP", Header: "target-pod", Health: health})
		if err != nil {
			t.Fatal(err)
		}
		var any map[string]any
		if err := yaml.UnmarshalStrict(text.Bytes(), &any); err != nil {
			t.Errorf("%v\n%s", err, text.String())
		}
		if got := strings.Contains(text.String(), "grpc_health_check"); got != health {
			t.Errorf("asks the picker's health: %v, want %v", got, health)
		}
	}
}

func TestDocuments(t *testing.T) {
	for _, d := range []document{llmdDefault, llmdBaseline} {
		var read struct {
			Plugins   []struct{ Type string }
			DataLayer struct{ Discovery struct{ PluginRef string } }
		}
		if err := yaml.Unmarshal([]byte(d.text("/servers.yaml")), &read); err != nil || len(read.Plugins) != 7 ||
			read.DataLayer.Discovery.PluginRef != "file-discovery" {
			t.Errorf("got %+v, %v", read, err)
		}
	}
}

func TestTables(t *testing.T) {
	of := func(requests int64, cpu time.Duration) *round {
		return &round{Result: wrk.Result{Requests: requests, Micros: 1e6, P50: 500, P99: 1500}, cpu: cpu}
	}
	var out bytes.Buffer
	all := []*running{{peer: &peers[0]}, {peer: &peers[1]}}
	writeOverhead(&out, 2, all, [][]*round{{of(100, 100*time.Millisecond), of(200, 200*time.Millisecond)},
		{of(50, 100*time.Millisecond), of(200, 400*time.Millisecond)}})
	for _, want := range []string{"100-200", "0.75 (0.50-1.00)", "1.000", "2.00"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	out.Reset()
	climbed10 := stageOf(10, 10, &load.Result{Elapsed: time.Second, Samples: []load.Sample{
		{Status: 200, TTFT: 20 * time.Millisecond, PromptTokens: 100, CachedTokens: 25, OutputTokens: 50},
		{Status: 503, Err: "503"}}})
	climbed10.write(&out, "some peer")
	for _, want := range []string{"0.200 s", "25.0 %", " 5 ", " 1\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

// TestPlots reads the plots as XML: each has all names, and all values.
func TestPlots(t *testing.T) {
	all := []*running{{peer: &peers[0]}, {peer: &peers[3]}}
	found := [][][]*round{{{{Result: wrk.Result{Requests: 1000}, cpu: time.Second}},
		{{Result: wrk.Result{Requests: 1000}, cpu: 12345 * time.Millisecond}}}}
	for _, test := range []struct {
		name, plot string
		want       []string
	}{
		{"overhead", overheadPlot([]int{16}, all, found), []string{peers[0].what, peers[3].what, "16 KB", ">12.3<"}},
		{"ladder", ladderPlot([]climbed{{"one", []stage{{rate: 20, p50: 0.25, p90: 150, hits: 0.5}, {rate: 10}}}}),
			[]string{"one, 20/s", ">0.25<", ">150<", ">50.0<"}},
		{"not measured", plot([]string{"a"}, []panel{{values: []float64{-1}}}), []string{"not measured"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			decoder := xml.NewDecoder(strings.NewReader(test.plot))
			for {
				_, err := decoder.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, want := range test.want {
				if !strings.Contains(test.plot, want) {
					t.Errorf("%q is missing", want)
				}
			}
		})
	}
}

func TestWorkloads(t *testing.T) {
	for _, w := range workloads {
		if got := len(w.requests(stageRequests)); got != stageRequests {
			t.Errorf("%s: %d requests, want %d", w.name, got, stageRequests)
		}
	}
	all := bursts(60)
	for i := range all {
		if equal := string(all[i].Body) == string(all[i/burst*burst].Body); !equal {
			t.Errorf("request %d is another than the first of its burst", i)
		}
	}
	if string(all[0].Body) == string(all[burst].Body) {
		t.Error("two bursts ask the same")
	}
}
