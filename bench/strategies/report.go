package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// row is one strategy with the medians over its rounds.
type row struct {
	name string
	outcome
}

func writeTable(w io.Writer, rows []row) {
	fmt.Fprintf(w, "%-16s %8s %10s %18s %12s %7s\n", "strategy", "Jain", "hit rate", "light p90 TTFT", "requests/s", "failed")
	for _, r := range rows {
		fmt.Fprintf(w, "%-16s %8.2f %9.0f%% %18v %12.1f %7d\n", r.name, r.jain, 100*r.hitRate, r.lightTTFT.Round(time.Millisecond), r.requests, r.failed)
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
	{"Jain's index (1 is even)", "#4c78a8", func(r row) float64 { return r.jain }, func(r row) string { return fmt.Sprintf("%.2f", r.jain) }, true},
	{"prefix hit rate", "#54a24b", func(r row) float64 { return r.hitRate }, func(r row) string { return fmt.Sprintf("%.0f %%", 100*r.hitRate) }, true},
	{"light users' p90 TTFT", "#e45756", func(r row) float64 { return r.lightTTFT.Seconds() }, func(r row) string { return r.lightTTFT.Round(time.Millisecond).String() }, false},
}

// writePlot writes bars as SVG.
func writePlot(w io.Writer, rows []row) error {
	width := plotLabels + len(panels)*(plotBar+plotGap)
	height := plotTop + len(rows)*plotRow + 10
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	for i, r := range rows {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", plotLabels-8, plotTop+i*plotRow+15, r.name)
	}
	for i, p := range panels {
		x, most := plotLabels+i*(plotBar+plotGap), 1.0
		if !p.unit {
			most = 0
		}
		for _, r := range rows {
			most = max(most, p.value(r))
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", x, plotTop-16, p.title)
		for k, r := range rows {
			length := plotBar * p.value(r) / max(most, 1e-9)
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, plotTop+k*plotRow+2, length, plotRow-8, p.color)
			fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s</text>`+"\n", float64(x)+length+4, plotTop+k*plotRow+15, p.text(r))
		}
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
