package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/svg"
)

// panel is one figure of all peers. A value below 0 is not there.
type panel struct {
	title, unit string
	values      []float64
	// percent has the axis end at 100; otherwise it is logarithmic.
	percent bool
}

// The measures of a plot, in pixels.
const (
	plotNames, plotPanel, plotGap = 270.0, 210.0, 40.0
	plotTop, plotRow              = 58.0, 24.0
)

// plot draws panels side by side, a row for each peer, Pintle's in another colour.
func plot(rows []string, panels []panel) string {
	height := float64(len(rows)) * plotRow
	d := svg.New(plotNames+float64(len(panels))*(plotPanel+plotGap), plotTop+height+34)
	for i, name := range rows {
		d.Text(8, plotTop+float64(i)*plotRow+16, name, weight(i))
	}
	for i, p := range panels {
		p.draw(d, plotNames+float64(i)*(plotPanel+plotGap), height)
	}
	return d.String()
}

// weight makes the first row stand out.
func weight(row int) string {
	if row == 0 {
		return `font-weight="bold"`
	}
	return `font-weight="normal"`
}

func (p panel) axis() svg.Axis {
	if p.percent {
		return svg.Axis{To: 100}
	}
	there := slices.DeleteFunc(slices.Clone(p.values), func(v float64) bool { return v <= 0 })
	if len(there) == 0 {
		there = []float64{1}
	}
	return svg.Decades(slices.Min(there), slices.Max(there))
}

func (p panel) draw(d *svg.Drawing, left, height float64) {
	d.Text(left, 22, p.title, `font-size="14"`)
	d.Text(left, 40, p.unit, `fill="#555"`)
	axis := p.axis()
	for _, tick := range axis.Ticks() {
		x := left + axis.Part(tick)*plotPanel
		d.Path(fmt.Sprintf("M%.1f %.1fv%.1f", x, plotTop, height), `stroke="#ddd"`)
		d.Text(x, plotTop+height+18, svg.Number(tick), `text-anchor="middle"`, `fill="#555"`)
	}
	for i, v := range p.values {
		y := plotTop + float64(i)*plotRow + 4
		if v < 0 {
			d.Text(left+4, y+12, "not measured", `fill="#888"`)
			continue
		}
		color := svg.Palette[5]
		if i == 0 {
			color = svg.Palette[0]
		}
		d.Rectangle(left, y, max(axis.Part(v)*plotPanel, 1), plotRow-8, `fill="`+color+`"`)
		d.Text(left+max(axis.Part(v)*plotPanel, 1)+4, y+12, label(v), `font-size="11"`)
	}
}

// label writes a value with three digits.
func label(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// overheadPlot shows what processor time a request takes, a panel for each size of body.
func overheadPlot(sizes []int, all []*running, found [][][]*round) string {
	var panels []panel
	for n, size := range sizes {
		p := panel{title: fmt.Sprintf("%d KB", size), unit: "processor time, ms for a request"}
		for i := range all {
			p.values = append(p.values, series.Of(found[n][i], (*round).cpuPerThousand).Median())
		}
		panels = append(panels, p)
	}
	var rows []string
	for _, r := range all {
		rows = append(rows, r.what)
	}
	return plot(rows, panels)
}

// ladderPlot shows how long the first token takes, and what was found cached, at the highest rate.
func ladderPlot(all []climbed) string {
	p50 := panel{title: "Time to first token, p50", unit: "seconds"}
	p90 := panel{title: "Time to first token, p90", unit: "seconds"}
	hits := panel{title: "Prompt tokens found cached", unit: "%", percent: true}
	var rows []string
	for _, c := range all {
		top := slices.MaxFunc(c.stages, func(a, b stage) int { return cmp.Compare(a.rate, b.rate) })
		rows = append(rows, fmt.Sprintf("%s, %g/s", c.what, top.rate))
		p50.values, p90.values = append(p50.values, top.p50), append(p90.values, top.p90)
		hits.values = append(hits.values, 100*top.hits)
	}
	return plot(rows, []panel{p50, p90, hits})
}
