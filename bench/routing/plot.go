package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/svg"
)

// The measures of the plot's panels, in pixels.
const (
	panelWidth, panelHeight = 250.0, 230.0
	panelLeft, panelTop     = 62.0, 82.0
	panelGap                = 72.0
)

// palette can be told apart by people who do not see all colours: Okabe and Ito, "Color Universal Design", 2008.
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9"}

// panel is one diagram over the rate.
type panel struct {
	title, unit string
	value       func(outcome) float64
	logarithmic bool
	// top is the end of a linear axis; 0 lets the values decide.
	top float64
}

var panels = []panel{
	{title: "Time to first token, p90", unit: "seconds", logarithmic: true, value: func(o outcome) float64 { return o.ttftP90 }},
	{title: "Prompt tokens found in prefix caches", unit: "%", top: 100, value: func(o outcome) float64 { return 100 * o.hitRate }},
	{title: "Output", unit: "thousand tokens per second", value: func(o outcome) float64 { return o.tokensPerSecond / 1000 }},
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

func color(side int) string { return palette[side%len(palette)] }

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
		d.Path(fmt.Sprintf("M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz", x, y-r-1, r+1, r+1, -r-1, r+1, -r-1, -r-1), fill)
	}
}

func (p panel) draw(d *svg.Drawing, left float64, all []series) {
	most := 0.0
	for _, s := range all {
		for _, o := range s.outcomes {
			most = max(most, o.rate)
		}
	}
	xs, ys := axis{from: 0, to: niceTop(most)}, p.scale(all)
	across := func(v float64) float64 { return left + panelWidth*xs.part(v) }
	down := func(v float64) float64 { return panelTop + panelHeight*(1-ys.part(v)) }
	d.Text(left, panelTop-26, p.title, `font-weight="bold"`)
	d.Text(left, panelTop-11, p.unit, `fill="#555"`)
	for _, v := range ys.ticks() {
		d.Path(fmt.Sprintf("M%.1f %.1fh%.0f", left, down(v), panelWidth), stroke("#ddd"))
		d.Text(left-6, down(v)+4, number(v), `text-anchor="end"`)
	}
	for _, v := range xs.ticks() {
		d.Path(fmt.Sprintf("M%.1f %.1fv5", across(v), panelTop+panelHeight), stroke("#222"))
		d.Text(across(v), panelTop+panelHeight+18, number(v), `text-anchor="middle"`)
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

// axis maps values to parts of a length.
type axis struct {
	from, to    float64
	logarithmic bool
}

// scale makes an axis that holds all values.
func (p panel) scale(all []series) axis {
	least, most := math.Inf(1), 0.0
	for _, s := range all {
		for _, o := range s.outcomes {
			least, most = min(least, p.value(o)), max(most, p.value(o))
		}
	}
	if !p.logarithmic {
		if p.top > 0 {
			return axis{to: p.top}
		}
		return axis{to: niceTop(most)}
	}
	const smallest = 0.001
	low := math.Floor(math.Log10(max(min(least, most), smallest)))
	high := max(math.Ceil(math.Log10(max(most, smallest))), low+1)
	return axis{from: math.Pow(10, low), to: math.Pow(10, high), logarithmic: true}
}

// part is where a value stands, 0 to 1. What is outside stands at the end.
func (a axis) part(v float64) float64 {
	if a.logarithmic {
		v, a.from, a.to = math.Log(max(v, a.from)), math.Log(a.from), math.Log(a.to)
	}
	return min(max((v-a.from)/(a.to-a.from), 0), 1)
}

// ticks are the values that are marked: powers of ten, or about five steps.
func (a axis) ticks() []float64 {
	var ticks []float64
	if a.logarithmic {
		for v := a.from; v < a.to*1.5; v *= 10 {
			ticks = append(ticks, v)
		}
		return ticks
	}
	for i := range 100 {
		v := float64(i) * step(a.to)
		if v > a.to*1.0001 {
			break
		}
		ticks = append(ticks, v)
	}
	return ticks
}

// step is 1, 2 or 5 times a power of ten, a fourth to a tenth of top.
func step(top float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(top/4)))
	for _, factor := range []float64{5, 2} {
		if factor*power <= top/4 {
			return factor * power
		}
	}
	return power
}

// niceTop is the next step above or at most.
func niceTop(most float64) float64 {
	if most <= 0 {
		return 1
	}
	return math.Ceil(most/step(most)-1e-9) * step(most)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
