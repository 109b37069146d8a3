package traffic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

func TestDecisions(t *testing.T) {
	f := newFixture(t, false)
	whole := f.decide("m1", "vllm-0")
	open := f.Decisions(0).Decisions
	if len(open) != 1 || open[0].Status != "" || open[0].Model != "m1" || open[0].Endpoint != "vllm-0" ||
		!open[0].Cold || open[0].Predicted != 10 {
		t.Fatalf("got %+v, want one that is open", open)
	}
	f.take(whole, false)
	ended := f.Decisions(open[0].Change).Decisions
	if len(ended) != 1 || ended[0].ID != open[0].ID || ended[0].Status != "200" || ended[0].TTFT != 1000 ||
		ended[0].Cached != 16 || ended[0].Ended != "" {
		t.Errorf("got %+v, want the same one, ended", ended)
	}
	if again := f.Decisions(ended[0].Change); len(again.Decisions) != 0 || again.Change != ended[0].Change {
		t.Errorf("got %+v, want nothing new", again)
	}
	if all := f.Decisions(ended[0].Change + 100); len(all.Decisions) != 1 {
		t.Errorf("since a change of another process: got %+v, want all", all)
	}
}

// steps are those of a decision between the two endpoints.
func steps() []byte {
	var w journal.StepsWriter
	w.Reset(2)
	zero, one, scorer := journal.EndpointID("vllm-0"), journal.EndpointID("vllm-1"), journal.HashName("queue-scorer")
	w.Profile(journal.HashName("default"))
	w.Removed(journal.HashName("stale"), 1, one)
	w.Scored(scorer, 0, zero, 0.5)
	w.Total(0, zero, 1)
	w.Picked(0, zero)
	return w.Bytes()
}

func TestFailuresAndRefusalsAreExplained(t *testing.T) {
	f := newFixture(t, false)
	failed := f.decide("m1", "vllm-0")
	failed.Code, failed.Ended, failed.Steps = 503, journal.EndedUnreached, steps()
	f.take(failed, false)
	f.take(journal.Event{Kind: journal.Refused, Code: 429, Reason: journal.HashName("shed"), Steps: steps()}, false)
	for range 2 * keptLast { // more than are listed
		f.take(f.decide("m1", "vllm-1"), false)
	}
	all := f.Decisions(0).Decisions
	var explained []string
	for _, d := range all {
		if !d.Explained {
			continue
		}
		x, ok := f.Decision(d.ID)
		text, err := json.Marshal(x.Profiles)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		explained = append(explained, d.Status+" "+d.Ended+d.Reason+" "+string(text))
	}
	profile := ` [{"name":"default","filteredOut":{"vllm-1":"stale"},"scorers":["queue-scorer"],"scores":{"queue-scorer":{"vllm-0":0.5}},` +
		`"totals":{"vllm-0":1},"picked":["vllm-0"]}]`
	if got, want := strings.Join(explained, "\n"), "429 shed"+profile+"\n503 unreached"+profile; got != want {
		t.Errorf("of %d decisions got\n%s\nwant\n%s", len(all), got, want)
	}
	if len(f.recent.open) != 0 {
		t.Errorf("%d decisions are open, want none", len(f.recent.open))
	}
}
