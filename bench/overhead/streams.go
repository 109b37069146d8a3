package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/internal/wrk"
)

const (
	streamEvents      = 100
	streamConnections = 16
)

// streamServers emit an event every 2 ms, so that each is a chunk of its own for Envoy, and the machine is not full.
var streamServers = []string{"-time-per-output-token", "2ms", "-batch-slowdown", "0", "-prefill-tokens-per-second",
	"1e9", "-max-num-seqs", "1024"}

// runStreams compares answers of many events. What a request costs anyhow is taken from answers of one event.
func runStreams(ctx context.Context, o options, st *stack.Stack, out io.Writer, progress func(string)) error {
	all := variants(o.module, o.compare)
	if err := start(ctx, st, all, serverCount, streamServers); err != nil {
		return err
	}
	var found [2]results
	for i, events := range []int{1, streamEvents} {
		body, err := json.Marshal(map[string]any{
			"model": "sim-model", "stream": true, "max_tokens": events,
			"messages": []map[string]string{{"role": "user", "content": "Hello"}},
		})
		if err != nil {
			return err
		}
		path, err := wrk.Script(st.Dir, fmt.Sprintf("events-%d", events), body, nil)
		if err != nil {
			return err
		}
		report := func(s string) { progress(fmt.Sprintf("%d events, %s", events, s)) }
		if found[i], err = rounds(o, all, byWrk(ctx, path, streamConnections), report); err != nil {
			return err
		}
	}
	progress("")
	writeStreams(out, o, all, found[0], found[1])
	return nil
}

func writeStreams(out io.Writer, o options, all []*variant, one, many results) {
	fmt.Fprintf(out, "streams: wrk -t1 -c%d, %d rounds of %v in turns: medians; CPU is Envoy's\n\n", streamConnections,
		o.rounds, o.duration)
	fmt.Fprintf(out, "%-8s %22s %22s %16s %16s\n", "Envoy", "CPU us/answer, 1 event",
		fmt.Sprintf("%d events", streamEvents), "us/event", "Pintle's share")
	var plain series.Series
	for i, v := range all {
		first := series.Of(one[i], (*measurement).cpuPerThousand)
		last := series.Of(many[i], (*measurement).cpuPerThousand)
		perEvent := make(series.Series, len(first))
		for round := range perEvent {
			perEvent[round] = (last[round] - first[round]) * 1000 / (streamEvents - 1)
		}
		share := ""
		if i == 0 {
			plain = perEvent
		} else {
			share = fmt.Sprintf("%+.2f us", perEvent.Median()-plain.Median())
		}
		fmt.Fprintf(out, "%-8s %22.0f %22.0f %16s %16s\n", v.name, first.Median()*1000, last.Median()*1000,
			fmt.Sprintf("%.2f (%s)", perEvent.Median(), perEvent.Spread("%.1f")), share)
	}
}
