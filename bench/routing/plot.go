package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/pintle-dev/pintle/internal/svg"
)

// The measures of the plot's panels, in pixels.
const (
	panelWidth, panelHeight = 250.0, 230.0
	panelLeft, panelTop     = 62.0, 82.0
	panelGap                = 72.0
)

// panel is one diagram over the rate.
type panel struct {
	title, unit string
	value       func(outcome) float64
	logarithmic bool
	// top is the end of a linear axis; 0 lets the values decide.
	top float64
}

var panels = []panel{
	{title: "Time to first token, p90", unit: "seconds", logarithmic: true,
		value: func(o outcome) float64 { return o.ttftP90 }},
	{title: "Prompt tokens found in prefix caches", unit: "%", top: 100,
		value: func(o outcome) float64 { return 100 * o.hitRate }},
	{title: "Output", unit: "thousand tokens per second",
		value: func(o outcome) float64 { return o.tokensPerSecond / 1000 }},
}

// plot draws an SVG of all sides.
func plot(all []series) string {
	d := svg.New(panelLeft+float64(len(panels))*(panelWidth+panelGap), panelTop+panelHeight+52)
	x := panelLeft
	for i, s := range all {
		d.Path(fmt.Sprintf("M%.0f 22h22", x), stroke(color(i)), `stroke-width="2.5"`)
		mark(d, x+11, 22, i)
		d.Text(x+28, 26, s.name, `font-size="13"`)
		x += 52 + 7*float64(len(s.name))
	}
	for i, p := range panels {
		p.draw(d, panelLeft+float64(i)*(panelWidth+panelGap), all)
	}
	return d.String()
}

func stroke(color string) string { return `stroke="` + color + `"` }

func color(side int) string { return svg.Palette[side%len(svg.Palette)] }

// mark is a point, of another form for each side.
func mark(d *svg.Drawing, x, y float64, side int) {
	const r = 3.5
	fill := `fill="` + color(side) + `"`
	switch side % 4 {
	case 0:
		d.Circle(x, y, r, fill)
	case 1:
		d.Rectangle(x-r, y-r, 2*r, 2*r, fill)
	case 2:
		d.Path(fmt.Sprintf("M%.1f %.1fl%.1f %.1fh%.1fz", x, y-r-1, r+1, 2*r+1, -2*r-2), fill)
	default:
		d.Path(fmt.Sprintf("M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz", x, y-r-1, r+1, r+1, -r-1, r+1, -r-1, -r-1),
			fill)
	}
}

func (p panel) draw(d *svg.Drawing, left float64, all []series) {
	most := 0.0
	for _, s := range all {
		for _, o := range s.outcomes {
			most = max(most, o.rate)
		}
	}
	xs, ys := svg.Axis{To: svg.NiceTop(most)}, p.scale(all)
	across := func(v float64) float64 { return left + panelWidth*xs.Part(v) }
	down := func(v float64) float64 { return panelTop + panelHeight*(1-ys.Part(v)) }
	d.Text(left, panelTop-26, p.title, `font-weight="bold"`)
	d.Text(left, panelTop-11, p.unit, `fill="#555"`)
	for _, v := range ys.Ticks() {
		d.Path(fmt.Sprintf("M%.1f %.1fh%.0f", left, down(v), panelWidth), stroke("#ddd"))
		d.Text(left-6, down(v)+4, svg.Number(v), `text-anchor="end"`)
	}
	for _, v := range xs.Ticks() {
		d.Path(fmt.Sprintf("M%.1f %.1fv5", across(v), panelTop+panelHeight), stroke("#222"))
		d.Text(across(v), panelTop+panelHeight+18, svg.Number(v), `text-anchor="middle"`)
	}
	d.Path(fmt.Sprintf("M%.1f %.1fv%.0fh%.0f", left, panelTop, panelHeight, panelWidth), `fill="none"`, stroke("#222"))
	d.Text(left+panelWidth/2, panelTop+panelHeight+38, "requests per second", `text-anchor="middle"`)
	// The first side last, so that it is on top.
	for i := len(all) - 1; i >= 0; i-- {
		var line strings.Builder
		for k, o := range all[i].outcomes {
			fmt.Fprintf(&line, "%c%.1f %.1f", "ML"[min(k, 1)], across(o.rate), down(p.value(o)))
		}
		d.Path(line.String(), `fill="none"`, stroke(color(i)), `stroke-width="2"`)
		for _, o := range all[i].outcomes {
			mark(d, across(o.rate), down(p.value(o)), i)
		}
	}
}

// scale makes an axis that holds all values.
func (p panel) scale(all []series) svg.Axis {
	least, most := math.Inf(1), 0.0
	for _, s := range all {
		for _, o := range s.outcomes {
			least, most = min(least, p.value(o)), max(most, p.value(o))
		}
	}
	if !p.logarithmic {
		if p.top > 0 {
			return svg.Axis{To: p.top}
		}
		return svg.Axis{To: svg.NiceTop(most)}
	}
	const smallest = 0.001
	return svg.Decades(max(min(least, most), smallest), max(most, smallest))
}
