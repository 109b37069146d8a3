package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/series"
)

// notable is from what difference on somebody is ahead, as a part.
const notable = 0.03

// figure is one that is compared, of a kind of measurement.
type figure[M any] struct {
	title, unit string
	of          func(M) float64
	format      string
	// more is set when more is better, points when it is a percentage, of which a tenth is notable, or one of Pintle's
	// own figure, which is said already.
	more, points bool
}

var costFigures = []figure[*cost]{
	{"requests/s", "", func(c *cost) float64 { return c.PerSecond }, "%.0f", true, false},
	{"p50", " ms", func(c *cost) float64 { return c.P50 }, "%.2f", false, false},
	{"p99", " ms", func(c *cost) float64 { return c.P99 }, "%.2f", false, false},
	{"processor time a request", " ms", func(c *cost) float64 { return c.CPU }, "%.3f", false, false},
	{"requests/s over Pintle's", "", func(c *cost) float64 { return c.share }, "%.2f", false, true},
	{"processor time over Pintle's", "", func(c *cost) float64 { return c.cpuShare }, "%.2f", false, true},
	{"failed", "", func(c *cost) float64 { return float64(c.Failed) }, "%.0f", false, false},
}

var choiceFigures = []figure[*choice]{
	{"TTFT p50", " s", func(c *choice) float64 { return c.TTFT.P50 }, "%.3f", false, false},
	{"p90", " s", func(c *choice) float64 { return c.TTFT.P90 }, "%.3f", false, false},
	{"p99", " s", func(c *choice) float64 { return c.TTFT.P99 }, "%.3f", false, false},
	{"whole p50", " s", func(c *choice) float64 { return c.Whole.P50 }, "%.2f", false, false},
	{"whole p90", " s", func(c *choice) float64 { return c.Whole.P90 }, "%.2f", false, false},
	{"found cached", " %", func(c *choice) float64 { return 100 * c.Hits }, "%.1f", true, true},
	{"good", " %", func(c *choice) float64 { return 100 * c.Good }, "%.1f", true, true},
	{"busiest", "", func(c *choice) float64 { return c.Imbalance }, "%.2f", false, false},
	{"tokens/s", "", func(c *choice) float64 { return c.Tokens }, "%.0f", true, false},
	{"failed", "", func(c *choice) float64 { return float64(c.Failed) }, "%.0f", false, false},
}

// table has what was measured under the same conditions, by peer.
type table[M any] struct {
	title   string
	figures []figure[M]
	rows    map[string][]M
}

// tablesOf sorts what of takes from records into tables, in the order in which they come.
func tablesOf[M any](records []record, figures []figure[M], of func(*record) (m M, title string, ok bool)) []*table[M] {
	var all []*table[M]
	for i := range records {
		m, title, ok := of(&records[i])
		if !ok {
			continue
		}
		n := slices.IndexFunc(all, func(t *table[M]) bool { return t.title == title })
		if n < 0 {
			n = len(all)
			all = append(all, &table[M]{title, figures, map[string][]M{}})
		}
		all[n].rows[records[i].Peer] = append(all[n].rows[records[i].Peer], m)
	}
	return all
}

func (s setting) String() string {
	how := fmt.Sprintf("%d connections, each one request after the other", s.Connections)
	if s.Rate > 0 {
		how = fmt.Sprintf("%g requests/s", s.Rate)
	}
	if s.Events > 0 {
		how += fmt.Sprintf(", answers of %d events", s.Events)
	}
	if s.New {
		how += ", prompts all new"
	}
	if s.PageKB > 0 {
		how += fmt.Sprintf(", %d KB more of metrics", s.PageKB)
	}
	return fmt.Sprintf("%d KB, %d servers, %s", s.KB, s.Servers, how)
}

func (o occasion) String() string {
	name := o.Workload
	if o.MadeUp {
		name += " (made up)"
	}
	text := fmt.Sprintf("%s at %g/s, servers: %s", name, o.Rate, o.Fleet)
	if o.Speed != defaultSpeed { // by which a gateway's own delay counts
		text += fmt.Sprintf(", %g times as fast as real ones", o.Speed)
	}
	return text
}

func costTables(records []record) []*table[*cost] {
	return tablesOf(records, costFigures, func(r *record) (*cost, string, bool) {
		if r.Cost == nil {
			return nil, "", false
		}
		return r.Cost, r.Cost.setting.String(), true
	})
}

func choiceTables(records []record) []*table[*choice] {
	return tablesOf(records, choiceFigures, func(r *record) (*choice, string, bool) {
		if r.Choice == nil {
			return nil, "", false
		}
		return r.Choice, r.Choice.occasion.String(), true
	})
}

// write writes a table and where a peer is ahead of the first one.
func (t *table[M]) write(out io.Writer) {
	fmt.Fprintf(out, "### %s\n\n|", t.title)
	for _, f := range t.figures {
		fmt.Fprintf(out, " | %s", f.title)
	}
	fmt.Fprintf(out, " |\n| --- |%s\n", strings.Repeat(" --- |", len(t.figures)))
	for _, p := range peers {
		rows := t.rows[p.name]
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(out, "| %s", p.what)
		for _, f := range t.figures {
			fmt.Fprintf(out, " | %s", f.cell(rows))
		}
		fmt.Fprintln(out, " |")
	}
	fmt.Fprintln(out)
	ahead := t.ahead()
	for _, line := range ahead {
		fmt.Fprintln(out, line)
	}
	if len(ahead) > 0 {
		fmt.Fprintln(out)
	}
}

// cell is the median of a figure, with the least and the most of several, of the rows that have one.
func (f *figure[M]) cell(rows []M) string {
	s := slices.DeleteFunc(series.Of(rows, f.of), math.IsNaN)
	if len(s) == 0 {
		return "-"
	}
	text := fmt.Sprintf(f.format, s.Median()) + f.unit
	if spread := s.Spread(f.format); slices.Max(s) > slices.Min(s) {
		text += " (" + spread + ")"
	}
	return text
}

// ahead has a line for each peer that is better than Pintle in something.
func (t *table[M]) ahead() (lines []string) {
	own := t.rows[peers[0].name]
	if len(own) == 0 {
		return nil
	}
	for _, p := range peers[1:] {
		if len(t.rows[p.name]) == 0 {
			continue
		}
		var parts []string
		for _, f := range t.figures {
			mine, theirs := series.Of(own, f.of).Median(), series.Of(t.rows[p.name], f.of).Median()
			if text := f.lead(mine, theirs); text != "" {
				parts = append(parts, text)
			}
		}
		if len(parts) > 0 {
			lines = append(lines, fmt.Sprintf("- %s is ahead: %s.", p.what, strings.Join(parts, ", ")))
		}
	}
	return lines
}

// lead says by how much theirs is better than mine, or nothing.
func (f *figure[M]) lead(mine, theirs float64) string {
	better := !f.points && theirs < mine*(1-notable)
	if f.points && f.more {
		better = theirs >= mine+0.1
	} else if f.more {
		better = theirs > mine*(1+notable)
	}
	if !better {
		return ""
	}
	return fmt.Sprintf("%s "+f.format+"%s beside "+f.format+"%s", f.title, theirs, f.unit, mine, f.unit)
}

// writeIdle writes what peers need while nobody asks.
func writeIdle(out io.Writer, records []record) {
	figures := []figure[*idle]{
		{"cores", "", func(i *idle) float64 { return i.Cores }, "%.3f", false, false},
		{"memory", " MB", func(i *idle) float64 { return i.MB }, "%.0f", false, false},
	}
	for _, t := range tablesOf(records, figures, func(r *record) (*idle, string, bool) {
		if r.Idle == nil {
			return nil, "", false
		}
		title := fmt.Sprintf("Nobody asks, %d servers, %d KB more of metrics", r.Idle.Servers, r.Idle.PageKB)
		return r.Idle, title, true
	}) {
		t.write(out)
	}
}

// report writes tables of records, and pictures if there is a folder for them.
func report(out io.Writer, records []record, plots string) error {
	relate(records)
	for _, t := range costTables(records) {
		t.write(out)
	}
	writeIdle(out, records)
	for _, t := range choiceTables(records) {
		t.write(out)
	}
	if plots == "" {
		return nil
	}
	for name, picture := range pictures(records) {
		if err := os.WriteFile(filepath.Join(plots, name), []byte(picture), 0o644); err != nil {
			return err
		}
	}
	return nil
}
