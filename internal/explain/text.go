package explain

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteText writes the explanation for people: a table for each profile, then the outcome.
func (x *Explanation) WriteText(w io.Writer) error {
	var text strings.Builder
	if x.Selection != nil {
		x.Selection.write(&text)
	}
	for _, name := range slices.Sorted(maps.Keys(x.Profiles)) {
		role := ""
		if name == x.Primary {
			role = " (primary)"
		}
		fmt.Fprintf(&text, "profile %s%s\n", name, role)
		x.Profiles[name].table(&text, x.Mix == nil)
		text.WriteByte('\n')
	}
	if x.Mix != nil {
		x.Mix.write(&text, x.Profiles)
	}
	for _, name := range slices.Sorted(maps.Keys(x.Predicted)) {
		p := x.Predicted[name]
		fmt.Fprintf(&text, "predicted at %s: %g ms to the first token, %g ms for each further one\n", name,
			p.TTFT, p.TPOT)
	}
	for _, name := range slices.Sorted(maps.Keys(x.RequestHeaders)) {
		fmt.Fprintf(&text, "request header %s: %s\n", name, x.RequestHeaders[name])
	}
	for _, name := range slices.Sorted(maps.Keys(x.ResponseHeaders)) {
		fmt.Fprintf(&text, "response header %s: %s\n", name, x.ResponseHeaders[name])
	}
	if x.Model != "" {
		fmt.Fprintf(&text, "asks for model %s\n", x.Model)
	}
	if x.Error != nil {
		fmt.Fprintf(&text, "refused with %d %s: %s\n", x.Error.Status, x.Error.Reason, x.Error.Message)
	} else {
		fmt.Fprintf(&text, "goes to %s\n", strings.Join(x.Destination, ", else to "))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// table lists the candidates, best total first and with their places if the profile picked by its totals, then what was
// filtered out.
func (p *Profile) table(text *strings.Builder, picks bool) {
	scorers := slices.Sorted(maps.Keys(p.Scores))
	t := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  endpoint\ttotal\t%s\t\n", strings.Join(scorers, "\t"))
	for _, e := range byTotal(p.Totals) {
		fmt.Fprintf(t, "  %s\t%.4f\t", e, p.Totals[e])
		for _, s := range scorers {
			fmt.Fprintf(t, "%.4f\t", p.Scores[s][e])
		}
		if picks {
			p.place(t, "", e)
		}
		fmt.Fprintln(t)
	}
	for _, e := range slices.Sorted(maps.Keys(p.FilteredOut)) {
		fmt.Fprintf(t, "  %s\tremoved by %s", e, p.FilteredOut[e])
		p.place(t, ", ", e) // of one that was only passed over for others
		fmt.Fprintln(t)
	}
	_ = t.Flush()
}

// place writes which choice the endpoint is, if it was picked, behind what goes before that.
func (p *Profile) place(w io.Writer, before, endpoint string) {
	if place := slices.Index(p.Picked, endpoint); place >= 0 {
		fmt.Fprintf(w, "%spicked %d", before, place+1)
	}
}

// byTotal returns the endpoints, best total first, equal ones by name.
func byTotal(totals map[string]float64) []string {
	endpoints := slices.Sorted(maps.Keys(totals))
	slices.SortStableFunc(endpoints, func(a, b string) int { return cmp.Compare(totals[b], totals[a]) })
	return endpoints
}
