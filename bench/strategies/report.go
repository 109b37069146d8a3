package main

import (
	"fmt"
	"io"
	"time"

	"github.com/pintle-dev/pintle/internal/svg"
)

// row is one strategy with the medians over its rounds.
type row struct {
	name string
	outcome
}

func writeTable(w io.Writer, rows []row) {
	fmt.Fprintf(w, "%-16s %8s %10s %18s %12s %7s\n", "strategy", "Jain", "hit rate", "light p90 TTFT", "requests/s",
		"failed")
	for _, r := range rows {
		fmt.Fprintf(w, "%-16s %8.2f %9.0f%% %18v %12.1f %7d\n", r.name, r.jain, 100*r.hitRate,
			r.lightTTFT.Round(time.Millisecond), r.requests, r.failed)
	}
}

// The plot's measures in pixels.
const (
	plotLabels = 130
	plotBar    = 220
	plotGap    = 60
	plotRow    = 26
	plotTop    = 44
)

// panels are the plot's columns of bars. A bar's full length is the greatest value, or 1.
var panels = []struct {
	title, color string
	value        func(row) float64
	text         func(row) string
	unit         bool
}{
	{"Jain's index (1 is even)", "#4c78a8", func(r row) float64 { return r.jain },
		func(r row) string { return fmt.Sprintf("%.2f", r.jain) }, true},
	{"prefix hit rate", "#54a24b", func(r row) float64 { return r.hitRate },
		func(r row) string { return fmt.Sprintf("%.0f %%", 100*r.hitRate) }, true},
	{"light users' p90 TTFT", "#e45756", func(r row) float64 { return r.lightTTFT.Seconds() },
		func(r row) string { return r.lightTTFT.Round(time.Millisecond).String() }, false},
}

// plot draws bars as SVG.
func plot(rows []row) string {
	d := svg.New(float64(plotLabels+len(panels)*(plotBar+plotGap)), float64(plotTop+len(rows)*plotRow+10))
	for i, r := range rows {
		d.Text(plotLabels-8, float64(plotTop+i*plotRow+15), r.name, `text-anchor="end"`)
	}
	for i, p := range panels {
		x, most := float64(plotLabels+i*(plotBar+plotGap)), 1.0
		if !p.unit {
			most = 0
		}
		for _, r := range rows {
			most = max(most, p.value(r))
		}
		d.Text(x, plotTop-16, p.title, `font-weight="bold"`)
		for k, r := range rows {
			y, length := float64(plotTop+k*plotRow), plotBar*p.value(r)/max(most, 1e-9)
			d.Rectangle(x, y+2, length, plotRow-8, `fill="`+p.color+`"`)
			d.Text(x+length+4, y+15, p.text(r))
		}
	}
	return d.String()
}
