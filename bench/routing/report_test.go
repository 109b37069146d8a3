package main

import (
	"encoding/xml"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/svg"
)

// sample is two sides at two rates. A name has what XML and a format would take for theirs.
func sample() []series {
	return []series{
		{"Pintle", []outcome{
			{rate: 3, ttftP50: 0.05, ttftP90: 0.1, hitRate: 0.5, requestsPerSecond: 3, tokensPerSecond: 3000,
				busy: 0.25},
			{rate: 20, ttftP50: 0.1, ttftP90: 0.2, hitRate: 0.995, requestsPerSecond: 18.5, tokensPerSecond: 18500},
		}},
		{"random <b>", []outcome{
			{rate: 3, ttftP50: 0.5, ttftP90: 0.3, queued: 0.01, tokensPerSecond: 2900},
			{rate: 20, ttftP50: 5, ttftP90: 30, queued: 2, tokensPerSecond: 9000},
		}},
	}
}

func TestWriteTable(t *testing.T) {
	const want = `
  rate                               TTFT p50   TTFT p90  x first  queued  prefix hits  answers/s output tokens/s  busy CPU
   3/s  Pintle                          50 ms     100 ms      1.0    0 ms        50.0%        3.0            3000       25%
        random <b>                     500 ms     300 ms      3.0   10 ms         0.0%        0.0            2900        0%
  20/s  Pintle                         100 ms     200 ms      1.0    0 ms        99.5%       18.5           18500        0%
        random <b>                     5.00 s     30.0 s    150.0  2.00 s         0.0%        0.0            9000        0%
`
	var got strings.Builder
	writeTable(&got, sample())
	if "\n"+got.String() != want {
		t.Errorf("got\n%swant%s", got.String(), want)
	}
}

// TestWriteHits: the rounds of a rate belong together, and a round is compared with that of the same requests.
func TestWriteHits(t *testing.T) {
	const want = `
  rate                         prefix hits     least-most  points more than waiting: median (min-max) TTFT p90   queued busy CPU
   5/s  Pintle                      20.0 %      10.0-30.0  -1.0 (-2.0 to +0.0), mean -1.0               200 ms     0 ms      50%
        exact, inline               21.0 %      10.0-32.0                                                 0 ms     0 ms       0%
  10/s  Pintle                      60.0 %      50.0-70.0  +11.0 (+10.0 to +12.0), mean +11.0             0 ms     0 ms       0%
        exact, inline               49.0 %      40.0-58.0                                                 0 ms   2.00 s       0%

2 rounds of each rate
`
	var got strings.Builder
	writeHits(&got, []series{
		{"Pintle", []outcome{{rate: 5, hitRate: 0.1, ttftP90: 0.1, busy: 0.4}, {rate: 10, hitRate: 0.5},
			{rate: 5, hitRate: 0.3, ttftP90: 0.3, busy: 0.6}, {rate: 10, hitRate: 0.7}}},
		{waited, []outcome{{rate: 5, hitRate: 0.1}, {rate: 10, hitRate: 0.4, queued: 1}, {rate: 5, hitRate: 0.32},
			{rate: 10, hitRate: 0.58, queued: 3}}},
	}, 2)
	if "\n"+got.String() != want {
		t.Errorf("got\n%swant%s", got.String(), want)
	}
}

func TestVerdict(t *testing.T) {
	var got strings.Builder
	writeVerdict(&got, sample())
	if want := "random <b>: requests queue from 20/s on. There its p90 TTFT is 150.0 times the one of Pintle, at " +
		"most 150.0 times, at 20/s."; !strings.Contains(got.String(), want) {
		t.Errorf("got %s, want ...%s...", got.String(), want)
	}
	idle := sample()
	idle[1].outcomes = idle[1].outcomes[:1]
	got.Reset()
	writeVerdict(&got, idle)
	if want := "random <b>: its servers were not saturated"; !strings.Contains(got.String(), want) {
		t.Errorf("idle: got %s, want ...%s...", got.String(), want)
	}
}

func TestDoubts(t *testing.T) {
	var got strings.Builder
	all := sample()
	writeDoubts(&got, all)
	if got.String() != "" {
		t.Errorf("idle machine: got %s", got.String())
	}
	all[1].outcomes[0].busy = 0.9
	writeDoubts(&got, all)
	if want := "Stages in which the processors were more than 85 % busy: 1."; !strings.Contains(got.String(), want) {
		t.Errorf("got %q, want ...%s...", got.String(), want)
	}
}

// TestPlot reads the plot as XML: it is to have a legend, titles, units, and a point for each outcome in each panel.
func TestPlot(t *testing.T) {
	var texts []string
	elements := map[string]int{}
	decoder := xml.NewDecoder(strings.NewReader(plot(sample())))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
			for _, a := range token.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("<%s %s=%q>", token.Name.Local, a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			texts = append(texts, string(token))
		}
	}
	for _, want := range []string{
		"Pintle", "random <b>", "Time to first token, p90", "seconds", "%", "thousand tokens per second",
		"requests per second",
		"0.1", "100", "20",
	} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is missing", want)
		}
	}
	// The marks of the first side are circles, those of the second squares; one more of each is in the legend, and a
	// rectangle is behind all.
	if want := 1 + 2*len(panels); elements["circle"] != want || elements["rect"] != want+1 {
		t.Errorf("got %d circles and %d rectangles, want %d and %d", elements["circle"], elements["rect"], want, want+1)
	}
}

func TestPlotPlacesPoints(t *testing.T) {
	// In the first panel 0.1 s is the bottom and 100 s the top of the axis, and the rates end at 20.
	got := plot(sample())
	for side, at := range [][2]float64{
		{panelLeft + panelWidth*3/20, panelTop + panelHeight},
		{panelLeft + panelWidth, panelTop + panelHeight*(1-(math.Log10(30)+1)/3)},
	} {
		want := svg.New(1, 1)
		mark(want, at[0], at[1], side)
		lines := strings.Split(want.String(), "\n")
		if shape := lines[len(lines)-3]; !strings.Contains(got, shape) {
			t.Errorf("%s is missing in\n%s", shape, got)
		}
	}
}
