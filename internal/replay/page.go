package replay

import (
	_ "embed"
	"html/template"
	"io"
	"math"
	"slices"

	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/svg"
)

//go:embed page.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// writeHTML writes one page that needs nothing else.
func (d *Document) writeHTML(w io.Writer) error {
	type row struct {
		Name, Color string
		Cells       []string
	}
	page := struct {
		Title   string
		Lines   []string
		Columns []string
		Rows    []row
		Plots   []template.HTML
	}{Title: "Replay of " + d.Name, Lines: d.Heading()}
	for _, c := range columns {
		page.Columns = append(page.Columns, c.name)
	}
	for i, r := range d.Reports {
		cells := make([]string, len(columns))
		for k, c := range columns {
			cells[k] = c.value(r)
		}
		page.Rows = append(page.Rows, row{r.Name, svg.Palette[i%len(svg.Palette)], cells})
	}
	for _, c := range d.charts() {
		drawing := svg.New(520, 330)
		c.Draw(drawing, 60, 50, 430, 220)
		page.Plots = append(page.Plots, template.HTML(drawing.String())) // the drawing escapes its texts
	}
	return pageTemplate.Execute(w, page)
}

// charts are the page's plots.
func (d *Document) charts() []*svg.Chart {
	ttft := &svg.Chart{Title: "Time to first token", Unit: "part of the answers, %", Across: "seconds, at most",
		Y: svg.Axis{To: 100}}
	tpot := &svg.Chart{Title: "Time per output token", Unit: "part of the answers, %", Across: "seconds, at most",
		Y: svg.Axis{To: 100}}
	over := &svg.Chart{Title: "Time to first token, p90", Unit: "seconds", Across: "seconds from the beginning"}
	hits := &svg.Chart{Title: "Prompt tokens found in caches", Unit: "%", Across: "seconds from the beginning",
		Y: svg.Axis{To: 100}}
	requests := &svg.Chart{Title: "Requests of each server", Unit: "% of an equal share",
		Across: "server, by its share"}
	end, most, servers := 1.0, 0.0, d.Servers.Count
	for _, r := range d.Reports {
		servers = max(servers, r.Servers)
		for i := range r.Samples {
			end = max(end, r.Samples[i].At)
		}
	}
	for i, r := range d.Reports {
		dashed := i >= len(svg.Palette)
		line := func(points [][2]float64) svg.Line { return svg.Line{Color: i, Dashed: dashed, Points: points} }
		ttft.Lines = append(ttft.Lines, line(distribution(r.Samples, func(s *Sample) float64 { return s.TTFT })))
		tpot.Lines = append(tpot.Lines, line(distribution(r.Samples, func(s *Sample) float64 { return s.TPOT })))
		p90, rates := overTime(r.Samples, end)
		for _, p := range p90 {
			if !math.IsNaN(p[1]) {
				most = max(most, p[1])
			}
		}
		over.Lines, hits.Lines = append(over.Lines, line(p90)), append(hits.Lines, line(rates))
		requests.Lines = append(requests.Lines, line(shares(r.Samples, r.Servers)))
	}
	ttft.X, tpot.X = timeAxis(ttft), timeAxis(tpot)
	over.X, hits.X = svg.Axis{To: svg.NiceTop(end)}, svg.Axis{To: svg.NiceTop(end)}
	over.Y = svg.Axis{To: svg.NiceTop(most)}
	requests.X, requests.Y = svg.Axis{To: float64(servers)}, topAxis(requests)
	return []*svg.Chart{ttft, tpot, over, hits, requests}
}

// distribution are the times that each hundredth of the answers takes at most.
func distribution(samples []Sample, of func(s *Sample) float64) (points [][2]float64) {
	var all []float64
	for i := range samples {
		if v := of(&samples[i]); samples[i].Server >= 0 && v > 0 {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	for p := 1; p <= 100 && len(all) > 0; p++ {
		points = append(points, [2]float64{series.Percentile(all, p), float64(p)})
	}
	return points
}

// timeAxis is one for the times of a distribution.
func timeAxis(c *svg.Chart) svg.Axis {
	least, most := math.Inf(1), 0.001
	for _, l := range c.Lines {
		for _, p := range l.Points {
			least, most = min(least, p[0]), max(most, p[0])
		}
	}
	return svg.Decades(max(min(least, most), 0.0001), most)
}

func topAxis(c *svg.Chart) svg.Axis {
	most := 0.0
	for _, l := range c.Lines {
		for _, p := range l.Points {
			most = max(most, p[1])
		}
	}
	return svg.Axis{To: svg.NiceTop(most)}
}

// overTime cuts the time in sixty and gives the p90 of TTFT and the hit rate, in percent and as far as servers told, of
// the requests that came in each part.
func overTime(samples []Sample, end float64) (p90, hits [][2]float64) {
	const parts = 60
	var times [parts][]float64
	var cached, input [parts]int
	for i := range samples {
		s := &samples[i]
		if s.Server < 0 {
			continue
		}
		at := min(int(s.At/end*parts), parts-1)
		if s.TTFT > 0 {
			times[at] = append(times[at], s.TTFT)
		}
		if !s.CachedUnknown {
			cached[at] += s.Cached
			input[at] += s.Input
		}
	}
	for i := range parts {
		middle := (float64(i) + .5) / parts * end
		p90 = append(p90, [2]float64{middle, quantiles(times[i]).P90})
		hits = append(hits, [2]float64{middle, 100 * part(cached[i], input[i])})
	}
	return p90, hits
}

// shares are the servers' requests in percent of an equal share, the most first.
func shares(samples []Sample, servers int) (points [][2]float64) {
	counts := make([]int, max(servers, 1))
	all := 0
	for i := range samples {
		if s := samples[i].Server; s >= 0 && s < len(counts) {
			counts[s]++
			all++
		}
	}
	slices.Sort(counts)
	slices.Reverse(counts)
	for i, n := range counts {
		share := 100 * float64(n) * float64(len(counts)) / float64(max(all, 1))
		points = append(points, [2]float64{float64(i), share}, [2]float64{float64(i + 1), share})
	}
	return points
}
