package svg

import (
	"fmt"
	"math"
	"strings"
)

// Chart is a diagram of lines.
type Chart struct {
	Title, Unit, Across string
	X, Y                Axis
	Lines               []Line
}

// Line is one line of a chart. Color is a place in Palette.
type Line struct {
	Color  int
	Dashed bool
	Points [][2]float64
}

// Draw draws the chart into a rectangle, which Title, ticks and Across stand around.
func (c *Chart) Draw(d *Drawing, left, top, width, height float64) {
	across := func(v float64) float64 { return left + width*c.X.Part(v) }
	down := func(v float64) float64 { return top + height*(1-c.Y.Part(v)) }
	d.Text(left, top-26, c.Title, `font-weight="bold"`)
	d.Text(left, top-11, c.Unit, `fill="#555"`)
	for _, v := range c.Y.Ticks() {
		d.Path(fmt.Sprintf("M%.1f %.1fh%.0f", left, down(v), width), `stroke="#ddd"`)
		d.Text(left-6, down(v)+4, Number(v), `text-anchor="end"`)
	}
	for _, v := range c.X.Ticks() {
		d.Path(fmt.Sprintf("M%.1f %.1fv5", across(v), top+height), `stroke="#222"`)
		d.Text(across(v), top+height+18, Number(v), `text-anchor="middle"`)
	}
	d.Path(fmt.Sprintf("M%.1f %.1fv%.0fh%.0f", left, top, height, width), `fill="none"`, `stroke="#222"`)
	d.Text(left+width/2, top+height+38, c.Across, `text-anchor="middle"`)
	// The first line last, so that it is on top.
	for i := len(c.Lines) - 1; i >= 0; i-- {
		l := &c.Lines[i]
		var path strings.Builder
		command := 'M'
		for _, p := range l.Points {
			if math.IsNaN(p[1]) {
				command = 'M'
				continue
			}
			fmt.Fprintf(&path, "%c%.1f %.1f", command, across(p[0]), down(p[1]))
			command = 'L'
		}
		attributes := []string{`fill="none"`, `stroke="` + Palette[l.Color%len(Palette)] + `"`, `stroke-width="2"`}
		if l.Dashed {
			attributes = append(attributes, `stroke-dasharray="5 4"`)
		}
		d.Path(path.String(), attributes...)
	}
}
