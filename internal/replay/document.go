package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// Document is everything that a replay has to say.
type Document struct {
	Trace   *Trace
	Name    string
	Servers Servers
	Scale   float64
	Limits  Limits
	// Asked is set when requests ask for the limits.
	Asked bool
	// Speeds multiply the speed of servers, by their number; where there is none, it is 1. Endpoints are their names,
	// if they have others than server-0 and so on.
	Speeds    []float64
	Endpoints []scoring.Endpoint
	// Gateways is how many decide, Lag how many seconds later one knows what another does; below 0 never.
	Gateways int
	Lag      float64
	// Fitted says where the servers' figures come from, empty when all of them are given or defaults.
	Fitted string
	// Reports are one for each configuration; what was recorded, if that is known, comes first.
	Reports []*Report
}

// Write writes the document as text, json or html.
func (d *Document) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return d.writeJSON(w)
	case "html":
		return d.writeHTML(w)
	}
	return d.writeText(w)
}

// columns are the figures of a report, for people.
var columns = []struct {
	name  string
	value func(r *Report) string
}{
	{"TTFT p50", func(r *Report) string { return duration(r.TTFT.P50) }},
	{"p90", func(r *Report) string { return duration(r.TTFT.P90) }},
	{"p99", func(r *Report) string { return duration(r.TTFT.P99) }},
	{"TPOT p50", func(r *Report) string { return duration(r.TPOT.P50) }},
	{"p90", func(r *Report) string { return duration(r.TPOT.P90) }},
	{"p99", func(r *Report) string { return duration(r.TPOT.P99) }},
	{"whole p50", func(r *Report) string { return duration(r.Whole.P50) }},
	{"p90", func(r *Report) string { return duration(r.Whole.P90) }},
	{"p99", func(r *Report) string { return duration(r.Whole.P99) }},
	{"hits", func(r *Report) string { return percent(r.Hits) }},
	{"predicted", func(r *Report) string { return percent(r.Predicted) }},
	{"most", func(r *Report) string { return number(r.Imbalance, "%.2f") }},
	{"good", func(r *Report) string { return percent(r.Good) }},
	{"good/s", func(r *Report) string { return number(r.GoodPerSecond, "%.2f") }},
	{"refused", refusals},
}

// refusals are the counts by reason, or 0.
func refusals(r *Report) string {
	if len(r.Refusals) == 0 {
		return "0"
	}
	return counts(r.Refusals)
}

func counts(of map[string]int) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%d %s", of[reason], reason))
	}
	return strings.Join(parts, ", ")
}

func number(v float64, format string) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

func percent(v float64) string { return number(100*v, "%.1f %%") }

func duration(seconds float64) string {
	switch {
	case seconds < 0.1:
		return number(1000*seconds, "%.1f ms")
	case seconds < 10:
		return number(1000*seconds, "%.0f ms")
	}
	return number(seconds, "%.1f s")
}

// Heading says in lines what was replayed before which servers.
func (d *Document) Heading() []string {
	last := 0.0
	for i := range d.Trace.Requests {
		last = max(last, d.Trace.Requests[i].At)
	}
	s := &d.Servers
	lines := []string{
		fmt.Sprintf("%s: %d requests in %s (%s), at %g times the rate", d.Name, len(d.Trace.Requests), duration(last),
			d.Trace.Format, d.Scale),
		fmt.Sprintf("%d servers: %d slots, %d blocks of %d tokens, prefill %.0f tokens/s, %v for a token, %.3g of it "+
			"for each further request",
			s.Count, s.MaxRunning, s.Blocks, s.BlockTokens, s.PrefillTokensPerSecond,
			s.TimePerOutputToken.Round(time.Microsecond), s.BatchSlowdown),
	}
	if speeds := d.otherSpeeds(); len(speeds) > 0 {
		lines = append(lines, "faster or slower by a factor: "+strings.Join(speeds, ", "))
	}
	if n := len(s.Adapters); n > 0 {
		lines = append(lines, fmt.Sprintf("LoRA adapters: %d, of which a server has %d loaded; it loads one in %v", n,
			s.MaxAdapters, s.AdapterLoad))
	}
	if d.Gateways > 1 && d.Lag < 0 {
		lines = append(lines, fmt.Sprintf("%d gateways, each of which knows its own requests", d.Gateways))
	} else if d.Gateways > 1 {
		lines = append(lines, fmt.Sprintf("%d gateways, each of which knows of the others' requests %s later",
			d.Gateways, duration(d.Lag)))
	}
	if d.Fitted != "" {
		lines = append(lines, d.Fitted)
	}
	if good := d.Limits.inWords(); good != "" {
		if d.Asked {
			good += ", which requests ask for"
		}
		lines = append(lines, "good is "+good)
	}
	lines = append(lines, d.Trace.lost()...)
	if d.Trace.Note != "" {
		lines = append(lines, d.Trace.Note)
	}
	return lines
}

// otherSpeeds are the servers that are not as fast as the heading says, each before its factor.
func (d *Document) otherSpeeds() (all []string) {
	for i, speed := range d.Speeds {
		name := serverName(i)
		if i < len(d.Endpoints) {
			name = d.Endpoints[i].Name
		}
		if speed != 1 {
			all = append(all, fmt.Sprintf("%s %g", name, speed))
		}
	}
	return all
}

// inWords says what a good answer is, empty without limits.
func (l Limits) inWords() string {
	var limits []string
	if l.TTFT > 0 {
		limits = append(limits, "a first token within "+duration(l.TTFT))
	}
	if l.TPOT > 0 {
		limits = append(limits, "a time per token of at most "+duration(l.TPOT))
	}
	return strings.Join(limits, " and ")
}

func (d *Document) writeText(w io.Writer) error {
	for _, line := range d.Heading() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range columns {
		fmt.Fprint(out, "\t", c.name)
	}
	fmt.Fprintln(out)
	for _, r := range d.Reports {
		fmt.Fprint(out, r.Name)
		for _, c := range columns {
			fmt.Fprint(out, "\t", c.value(r))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// MarshalJSON implements json.Marshaler: what is unknown is null.
func (r *Report) MarshalJSON() ([]byte, error) {
	known := func(v float64) any {
		if math.IsNaN(v) {
			return nil
		}
		return v
	}
	times := func(q Quantiles) any {
		return map[string]any{"mean": known(q.Mean), "p50": known(q.P50), "p90": known(q.P90), "p99": known(q.P99)}
	}
	return json.Marshal(map[string]any{
		"name": r.Name, "requests": r.Requests, "ttft": times(r.TTFT), "tpot": times(r.TPOT), "whole": times(r.Whole),
		"hits":      known(r.Hits),
		"predicted": known(r.Predicted), "imbalance": known(r.Imbalance), "good": known(r.Good),
		"goodPerSecond": r.GoodPerSecond,
		"refusals":      r.Refusals,
	})
}

func (d *Document) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{
		"trace": d.Name, "format": d.Trace.Format, "missed": d.Trace.Missed, "damaged": d.Trace.Damaged,
		"unended": d.Trace.Unended, "scale": d.Scale, "servers": d.Servers, "reports": d.Reports,
	})
}
