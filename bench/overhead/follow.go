package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pintle-dev/pintle/internal/stack"
)

// followed is what a sidecar says of the journal that it follows.
type followed struct{ events, missed, requests float64 }

func readFollowed(adminPort int) (f followed, err error) {
	response, err := http.Get("http://" + stack.Address(adminPort) + "/metrics")
	if err != nil {
		return f, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return f, fmt.Errorf("the sidecar's metrics: got %s", response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return f, err
	}
	for name, sum := range map[string]*float64{
		"pintle_sidecar_journal_events_total": &f.events, "pintle_sidecar_journal_missed_events_total": &f.missed,
		"pintle_requests_total": &f.requests,
	} {
		if families[name] == nil {
			return f, fmt.Errorf("the sidecar's metrics have no %s", name)
		}
		for _, m := range families[name].GetMetric() {
			*sum += m.GetCounter().GetValue()
		}
	}
	return f, nil
}

// writeFollowed loads the followed Envoy for as long as is asked for, and says whether the sidecar has heard of every
// request.
func writeFollowed(ctx context.Context, o options, v *variant, scriptPath string, out io.Writer,
	progress func(string)) error {
	time.Sleep(time.Second) // until all of the rounds has been heard of
	before, err := readFollowed(v.adminPort)
	if err != nil {
		return err
	}
	sent := int64(0)
	if o.last > 0 {
		progress(fmt.Sprintf("%v of load", o.last))
		m, err := measure(ctx, v, scriptPath, requestConnections, o.last)
		if err != nil {
			return err
		}
		progress("")
		sent = m.Requests
	}
	time.Sleep(time.Second)
	after, err := readFollowed(v.adminPort)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "followed: %.0f events in all, %.0f missed (bar: 0)\n", after.events, after.missed)
	if sent > 0 {
		fmt.Fprintf(out, "in %v of load: %d requests (%.0f/s), %.0f heard of; wrk leaves what is on its way at "+
			"the end\n", o.last, sent,
			float64(sent)/o.last.Seconds(), after.requests-before.requests)
	}
	return nil
}
