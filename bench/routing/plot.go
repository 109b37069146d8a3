package main

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
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
	width := panelLeft + float64(len(panels))*(panelWidth+panelGap)
	height := panelTop + panelHeight + 52
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="sans-serif" font-size="12" fill="#222">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	x := panelLeft
	for i, s := range all {
		fmt.Fprintf(&b, `<path d="M%.0f 22h22" stroke="%s" stroke-width="2.5"/>%s<text x="%.0f" y="26" font-size="13">%s</text>`+"\n",
			x, color(i), mark(x+11, 22, i), x+28, html.EscapeString(s.name))
		x += 52 + 7*float64(len(s.name))
	}
	for i, p := range panels {
		p.draw(&b, panelLeft+float64(i)*(panelWidth+panelGap), all)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func color(side int) string { return palette[side%len(palette)] }

// mark is a point, of another form for each side.
func mark(x, y float64, side int) string {
	const r = 3.5
	fill := `" fill="` + color(side) + `"/>`
	switch side % 4 {
	case 0:
		return fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="%.1f%s`, x, y, r, fill)
	case 1:
		return fmt.Sprintf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f%s`, x-r, y-r, 2*r, 2*r, fill)
	case 2:
		return fmt.Sprintf(`<path d="M%.1f %.1fl%.1f %.1fh%.1fz%s`, x, y-r-1, r+1, 2*r+1, -2*r-2, fill)
	}
	return fmt.Sprintf(`<path d="M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz%s`, x, y-r-1, r+1, r+1, -r-1, r+1, -r-1, -r-1, fill)
}

func (p panel) draw(b *strings.Builder, left float64, all []series) {
	scale := p.scale(all)
	most := 0.0
	for _, s := range all {
		for _, o := range s.outcomes {
			most = max(most, o.rate)
		}
	}
	xs := axis{from: 0, to: niceTop(most)}
	across := func(v float64) float64 { return left + panelWidth*xs.part(v) }
	down := func(v float64) float64 { return panelTop + panelHeight*(1-scale.part(v)) }
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f" font-weight="bold">%s</text><text x="%.0f" y="%.0f" fill="#555">%s</text>`+"\n",
		left, panelTop-26, html.EscapeString(p.title), left, panelTop-11, html.EscapeString(p.unit))
	for _, v := range scale.ticks() {
		fmt.Fprintf(b, `<path d="M%.1f %.1fh%.0f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, down(v), panelWidth, left-6, down(v)+4, number(v))
	}
	for _, v := range xs.ticks() {
		fmt.Fprintf(b, `<path d="M%.1f %.1fv5" stroke="#222"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			across(v), panelTop+panelHeight, across(v), panelTop+panelHeight+18, number(v))
	}
	fmt.Fprintf(b, `<path d="M%.1f %.1fv%.0fh%.0f" fill="none" stroke="#222"/><text x="%.1f" y="%.1f" text-anchor="middle">requests per second</text>`+"\n",
		left, panelTop, panelHeight, panelWidth, left+panelWidth/2, panelTop+panelHeight+38)
	// The first side last, so that it is on top.
	for i := len(all) - 1; i >= 0; i-- {
		var line, marks strings.Builder
		for k, o := range all[i].outcomes {
			x, y := across(o.rate), down(p.value(o))
			fmt.Fprintf(&line, "%c%.1f %.1f", "ML"[min(k, 1)], x, y)
			marks.WriteString(mark(x, y, i))
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>%s`+"\n", line.String(), color(i), marks.String())
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
