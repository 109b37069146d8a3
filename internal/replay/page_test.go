package replay

import (
	"math"
	"testing"
)

// TestPlottedHits: the plot of hits has the prompts of which servers told what they had cached, as the table.
func TestPlottedHits(t *testing.T) {
	told, untold := Sample{Input: 100, Cached: 50}, Sample{Input: 100, CachedUnknown: true}
	for _, test := range []struct {
		name    string
		samples []Sample
		want    float64
	}{
		{"all told", []Sample{told, told}, 50},
		{"half of them told", []Sample{told, untold}, 50},
		{"none told", []Sample{untold, untold}, math.NaN()},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, hits := overTime(test.samples, 60)
			if got := hits[0][1]; got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
				t.Errorf("%v %% are plotted, want %v", got, test.want)
			}
		})
	}
}

// TestPlottedShares: what was recorded is plotted for the servers that it had, however many are tried in their place.
func TestPlottedShares(t *testing.T) {
	recorded := []Sample{{Server: 3}, {Server: 3}, {Server: 0}, {Server: 1}}
	for _, test := range []struct {
		name  string
		tried int
	}{{"fewer", 2}, {"as many", 4}, {"more", 8}} {
		t.Run(test.name, func(t *testing.T) {
			d := &Document{Servers: Servers{Count: test.tried}, Reports: []*Report{
				Summarise("recorded", recorded, 4, Limits{}), Summarise("tried", nil, test.tried, Limits{}),
			}}
			plots := d.charts()
			requests := plots[len(plots)-1]
			points := requests.Lines[0].Points
			if most := 100 * d.Reports[0].Imbalance; points[0][1] != most || len(points) != 8 {
				t.Errorf("the first of %d points is at %v %%, want 8 and %v %%", len(points), points[0][1], most)
			}
			if want := float64(max(test.tried, 4)); requests.X.To != want {
				t.Errorf("the axis ends at %v servers, want %v", requests.X.To, want)
			}
		})
	}
}
