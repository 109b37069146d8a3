package main

import (
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
	// plotWide is how many panels are beside each other.
	plotWide = 4
)

// plot draws panels side by side, a row for each peer, Pintle's in another colour.
func plot(rows []string, panels []panel) string {
	height := float64(len(rows)) * plotRow
	band := plotTop + height + 34
	bands := (len(panels) + plotWide - 1) / plotWide
	d := svg.New(plotNames+float64(min(len(panels), plotWide))*(plotPanel+plotGap), band*float64(max(bands, 1)))
	for i := range bands {
		for k, name := range rows {
			d.Text(8, float64(i)*band+plotTop+float64(k)*plotRow+16, name, weight(k))
		}
	}
	for i, p := range panels {
		p.draw(d, plotNames+float64(i%plotWide)*(plotPanel+plotGap), float64(i/plotWide)*band, height)
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

func (p panel) draw(d *svg.Drawing, left, top, height float64) {
	d.Text(left, top+22, p.title, `font-size="14"`)
	d.Text(left, top+40, p.unit, `fill="#555"`)
	axis := p.axis()
	for _, tick := range axis.Ticks() {
		x := left + axis.Part(tick)*plotPanel
		d.Path(fmt.Sprintf("M%.1f %.1fv%.1f", x, top+plotTop, height), `stroke="#ddd"`)
		d.Text(x, top+plotTop+height+18, svg.Number(tick), `text-anchor="middle"`, `fill="#555"`)
	}
	for i, v := range p.values {
		y := top + plotTop + float64(i)*plotRow + 4
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

// panelOf is one figure of a table, a value for each peer.
func panelOf[M any](t *table[M], title, unit string, of func(M) float64) panel {
	p := panel{title: title, unit: unit}
	for _, one := range peers {
		v := -1.0
		if rows := t.rows[one.name]; len(rows) > 0 {
			v = series.Of(rows, of).Median()
		}
		p.values = append(p.values, v)
	}
	return p
}

// draw draws panels of those peers that have a value in one of them.
func draw(panels []panel) string {
	var rows []string
	kept := make([]panel, len(panels))
	for i, one := range peers {
		if !slices.ContainsFunc(panels, func(p panel) bool { return p.values[i] >= 0 }) {
			continue
		}
		rows = append(rows, one.what)
		for n, p := range panels {
			kept[n].title, kept[n].unit, kept[n].percent = p.title, p.unit, p.percent
			kept[n].values = append(kept[n].values, p.values[i])
		}
	}
	return plot(rows, kept)
}

// pictures are those of records, by the names of their files: what processor time a request takes by its size, how long
// the first token takes and what was found cached in the workload "shared" at its highest rate, and the time to the
// first token in all others.
func pictures(records []record) map[string]string {
	all := map[string]string{}
	var costs, others []panel
	for _, t := range costTables(records) {
		one := anyOf(t)
		if one.Rate > 0 || one.PageKB > 0 {
			continue
		}
		title := fmt.Sprintf("%d KB", one.KB)
		if one.Events > 0 {
			title += fmt.Sprintf(", answers of %d events", one.Events)
		}
		if one.New {
			title += ", prompts all new"
		}
		costs = append(costs, panelOf(t, title, "processor time, ms for a request",
			func(c *cost) float64 { return c.CPU }))
	}
	var top *table[*choice]
	for _, t := range choiceTables(records) {
		one := anyOf(t)
		if one.Workload == workloads[0].name && one.Fleet == fleets[0].name {
			if top == nil || anyOf(top).Rate < one.Rate {
				top = t
			}
			continue
		}
		title := one.Workload
		if one.Fleet != fleets[0].name {
			title += ", servers: " + one.Fleet
		}
		others = append(others, panelOf(t, title, "time to first token, p90, s",
			func(c *choice) float64 { return c.TTFT.P90 }))
	}
	if len(costs) > 0 {
		all["peers-overhead.svg"] = draw(costs)
	}
	if len(others) > 0 {
		all["peers-workloads.svg"] = draw(chosen(others))
	}
	if top != nil {
		all["peers-ladder.svg"] = draw(ladderPanels(top))
	}
	return all
}

// chosen leaves out those whose choices are not compared by themselves: their figures are in the tables.
func chosen(panels []panel) []panel {
	for _, p := range panels {
		for i, one := range peers {
			if !one.chooses {
				p.values[i] = -1
			}
		}
	}
	return panels
}

// anyOf is one measurement of a table.
func anyOf[M any](t *table[M]) M {
	for _, rows := range t.rows {
		return rows[0]
	}
	panic("a table has rows")
}

func ladderPanels(t *table[*choice]) []panel {
	at := fmt.Sprintf(" at %g requests/s", anyOf(t).Rate)
	hits := panelOf(t, "Prompt tokens found cached", "%"+at, func(c *choice) float64 { return 100 * c.Hits })
	hits.percent = true
	return []panel{
		panelOf(t, "Time to first token, p50", "seconds"+at, func(c *choice) float64 { return c.TTFT.P50 }),
		panelOf(t, "Time to first token, p90", "seconds"+at, func(c *choice) float64 { return c.TTFT.P90 }), hits}
}
