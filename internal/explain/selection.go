package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pintle-dev/pintle/scoring"
)

// Selection is how the place of a virtual model was filled.
type Selection struct {
	// Decision is the virtual model.
	Decision string `json:"decision"`
	// Model is the one chosen, empty when there is none.
	Model string `json:"model"`
	// Reason is a code for why.
	Reason string `json:"reason"`
	// Models are all that could have been chosen.
	Models map[string]ModelOption `json:"models"`
}

// ModelOption is a model that could have been chosen.
type ModelOption struct {
	// Removed says what kept it from being rated, empty for nothing.
	Removed string `json:"removed,omitempty"`
	// Signals are what is known of it.
	Signals map[string]float64 `json:"signals,omitempty"`
	// Ratings are what was made of the signals, Score their weighted sum.
	Ratings map[string]float64 `json:"ratings,omitempty"`
	Score   float64            `json:"score"`
}

// ModelSelected implements scoring.Tracer.
func (x *Explanation) ModelSelected(s *scoring.Selection) {
	x.Selection = &Selection{Decision: s.Decision, Model: s.Model, Reason: s.Reason, Models: map[string]ModelOption{}}
	for i := range s.Models {
		o := &s.Models[i]
		x.Selection.Models[o.Model] = ModelOption{
			Removed: o.Removed, Signals: byName(o.Signals), Ratings: byName(o.Ratings), Score: o.Score,
		}
	}
}

func byName(list []scoring.NamedValue) map[string]float64 {
	values := map[string]float64{}
	for _, v := range list {
		values[v.Name] = v.Value
	}
	return values
}

// write writes the selection for people: a table of the models, best score first, then what was removed.
func (s *Selection) write(text *strings.Builder) {
	chosen := "nothing"
	if s.Model != "" {
		chosen = s.Model
	}
	fmt.Fprintf(text, "model %s stands for %s (%s)\n", s.Decision, chosen, s.Reason)
	var rated, removed, columns []string
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		if m := s.Models[name]; m.Removed != "" {
			removed = append(removed, name)
		} else {
			rated = append(rated, name)
			columns = slices.Sorted(maps.Keys(m.Ratings))
		}
	}
	slices.SortStableFunc(rated, func(a, b string) int { return cmp.Compare(s.Models[b].Score, s.Models[a].Score) })
	t := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  model\tscore\t%s\n", strings.Join(columns, "\t"))
	for _, name := range rated {
		fmt.Fprintf(t, "  %s\t%.4f\t", name, s.Models[name].Score)
		for _, column := range columns {
			fmt.Fprintf(t, "%.4f\t", s.Models[name].Ratings[column])
		}
		fmt.Fprintln(t, s.Models[name].signals())
	}
	for _, name := range removed {
		fmt.Fprintf(t, "  %s\tremoved by %s\t%s\n", name, s.Models[name].Removed, s.Models[name].signals())
	}
	_ = t.Flush()
	text.WriteByte('\n')
}

// signals lists what is known of a model.
func (m ModelOption) signals() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(m.Signals)) {
		list = append(list, fmt.Sprintf("%s %g", name, m.Signals[name]))
	}
	return strings.Join(list, ", ")
}
