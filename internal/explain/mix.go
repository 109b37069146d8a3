package explain

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/pintle-dev/pintle/scoring"
)

// Mix is what several profiles came to together.
type Mix struct {
	// Shares are the profiles' parts of the whole, which is 1.
	Shares map[string]float64 `json:"shares"`
	// Totals are what the endpoints were picked by: the sums of share x the profile's total.
	Totals map[string]float64 `json:"totals"`

	profiles []string
}

// Mixed implements scoring.Tracer.
func (x *Explanation) Mixed(m *scoring.Mixture) {
	x.Mix = &Mix{Shares: map[string]float64{}, Totals: map[string]float64{}}
	for _, share := range m.Shares {
		x.Mix.Shares[share.Name] = share.Value
		x.Mix.profiles = append(x.Mix.profiles, share.Name)
	}
	for _, ranked := range m.Totals {
		x.Mix.Totals[ranked.Endpoint.Name] = ranked.Total
	}
}

// write writes the mix for people: its totals with what each profile gave to them, and the places that the endpoints
// got.
func (m *Mix) write(text *strings.Builder, profiles map[string]*Profile) {
	fmt.Fprintf(text, "mix of %s\n", strings.Join(m.profiles, ", "))
	t := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "  endpoint\ttotal\t")
	for _, name := range m.profiles {
		fmt.Fprintf(t, "%s x %.4f\t", name, m.Shares[name])
	}
	fmt.Fprintln(t)
	for _, e := range byTotal(m.Totals) {
		fmt.Fprintf(t, "  %s\t%.4f\t", e, m.Totals[e])
		for _, name := range m.profiles {
			fmt.Fprintf(t, "%.4f\t", profiles[name].Totals[e])
		}
		profiles[m.profiles[0]].place(t, "", e)
		fmt.Fprintln(t)
	}
	_ = t.Flush()
	text.WriteByte('\n')
}
