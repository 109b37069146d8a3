package scrape

import (
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/snapshot"
)

func TestProcess(t *testing.T) {
	const some, absent = snapshot.SomeStart, -1
	type page struct {
		start uint64
		done  float64
	}
	for _, test := range []struct {
		name  string
		pages []page
		want  []uint64 // at 1 s, 2 s and so on
	}{
		{"the page says it", []page{{5000, 10}, {5000, 20}, {9000, 1}}, []uint64{5000, 5000, 9000}},
		{"less done than before", []page{{0, 10}, {0, 10}, {0, 20}, {0, 5}, {0, 6}, {0, 0}},
			[]uint64{some, some, some, 4000, 4000, 6000}},
		{"nothing done yet", []page{{0, absent}, {0, 10}, {0, absent}, {0, 4}}, []uint64{0, some, some, 4000}},
		{"neither", []page{{0, absent}, {0, absent}}, []uint64{0, 0}},
		{"no longer said", []page{{5000, 10}, {0, 20}}, []uint64{5000, some}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p process
			var got []uint64
			for i, page := range test.pages {
				s, found := engine.Sample{ProcessStart: page.start}, engine.Fields(0)
				if page.start != 0 {
					found |= 1 << engine.ProcessStart
				}
				if page.done != absent {
					s.Done = page.done
					found |= 1 << engine.Done
				}
				p.tell(&s, found, time.UnixMilli(int64(i+1)*1000))
				got = append(got, s.ProcessStart)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
