package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
)

// summarize writes what both sides came to. The ratio is random choice's figure over Pintle's: above 1, Pintle is
// faster.
func (s *screen) summarize(left, right *side) {
	fmt.Fprintf(s.out, "%s\n", s.paint(bold, fmt.Sprintf("%-16s%12s%16s%16s", "", "Pintle", right.name, "ratio")))
	for _, part := range []struct {
		name        string
		measure     load.Measure
		percentiles []float64
	}{
		{"first token", load.TTFT, []float64{50, 90, 99}},
		{"whole answer", load.Latency, []float64{50, 99}},
	} {
		l, r := left.result.Percentiles(part.measure, part.percentiles...),
			right.result.Percentiles(part.measure, part.percentiles...)
		for i, p := range part.percentiles {
			name := ""
			if i == 0 {
				name = part.name
			}
			fmt.Fprintf(s.out, "%-13sp%.0f%12s%16s%16s\n", name, p, readable(l[i]), readable(r[i]), times(r[i], l[i]))
		}
	}
	fmt.Fprintf(s.out, "%-16s%12d%16d\n", "answers", left.result.Succeeded(), right.result.Succeeded())
	fmt.Fprintf(s.out, "%-16s%12d%16d\n\n", "errors", failures(left.result), failures(right.result))
	fmt.Fprintln(s.out, verdict(left.result, right.result))
}

// verdict says in one sentence whether Pintle was better. Where requests failed the times are those of the others.
func verdict(left, right *load.Result) string {
	switch {
	case failures(left)+failures(right) > 0:
		return "Requests failed, so the sides did not do the same work: neither can be called faster."
	case left.Succeeded() == 0 || right.Succeeded() == 0:
		return "No request was answered. Was the rate low for so short a time?"
	}
	ours, theirs := left.Percentiles(load.TTFT, 90)[0], right.Percentiles(load.TTFT, 90)[0]
	switch r := ratio(theirs, ours); {
	case r >= 1.1:
		return fmt.Sprintf("With Pintle 9 of 10 requests had their first token within %s, with random choice within "+
			"%s: %.1f times sooner.",
			readable(ours), readable(theirs), r)
	case r <= 0.9:
		return fmt.Sprintf("In this run random choice was faster: first tokens p90 %s, with Pintle %s. Was the "+
			"machine busy with something else?",
			readable(theirs), readable(ours))
	}
	return "In this run Pintle and random choice were equally fast. Was the machine busy with something else, or the " +
		"rate low?"
}

func ratio(theirs, ours time.Duration) float64 {
	return float64(theirs) / float64(max(ours, 1))
}

// times is the ratio for people, where both were measured.
func times(theirs, ours time.Duration) string {
	if theirs == 0 || ours == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fx", ratio(theirs, ours))
}

func readable(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// failures counts what was not answered well, and what was not even sent.
func failures(r *load.Result) int { return r.Failed() + r.Dropped }

// errorsOf is an error that lists what went wrong with a side's requests, or nil.
func errorsOf(s *side) error {
	if failures(s.result) == 0 {
		return nil
	}
	var kinds []string
	for kind, n := range s.result.Errors() {
		kinds = append(kinds, fmt.Sprintf("%d times %q", n, kind))
	}
	if s.result.Dropped > 0 {
		kinds = append(kinds, fmt.Sprintf("%d not sent, as too many were under way", s.result.Dropped))
	}
	slices.Sort(kinds)
	return errors.New(s.name + ": requests failed: " + strings.Join(kinds, ", "))
}

// next writes what to look at after the demo.
func next(w io.Writer, p ports) {
	fmt.Fprintf(w, `
Look next at
  bin/pintle explain -h              why a request goes where it goes, without any server
  make demo KEEP=1                   keeps all of this up; the sidecar's page is http://127.0.0.1:%d/
  README.md                          how to run Pintle in an Envoy of your own
`, p.sidecar)
}

// invite writes commands to try while everything stays up.
func invite(w io.Writer, p ports) {
	fmt.Fprintf(w, `
All of it stays up until Ctrl-C. Try, in another terminal:
  # a chat; x-sim-server names the model server that Pintle chose
  curl -i http://127.0.0.1:%[1]d/v1/chat/completions -H 'content-type: application/json' -d '{"model":"sim-model","max_tokens":8,"messages":[{"role":"user","content":"Hello"}]}'
  # the same as a stream
  curl -N http://127.0.0.1:%[1]d/v1/chat/completions -H 'content-type: application/json' -d '{"model":"sim-model","max_tokens":8,"stream":true,"messages":[{"role":"user","content":"Hello"}]}'
  # the models of some server
  curl http://127.0.0.1:%[1]d/v1/models
  # a request that Pintle refuses, and why: x-pintle-reason
  curl -i http://127.0.0.1:%[1]d/v1/chat/completions -H 'content-type: application/json' -d '{"messages":'
  # what the sidecar knows of the servers
  curl http://127.0.0.1:%[2]d/endpoints
  # Pintle's counters in Envoy
  curl 'http://127.0.0.1:%[3]d/stats?filter=pintle'
`, p.requests, p.sidecar, p.envoy)
}
