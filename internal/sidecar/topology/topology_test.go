package topology

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/snapshot"
)

func endpoint(name string, models ...string) Endpoint {
	return Endpoint{Endpoint: snapshot.Endpoint{Name: name, Address: "10.0.0.1:8000", Models: models}}
}

func names(t *Part) (all []string) {
	for _, e := range t.Endpoints {
		all = append(all, e.Name)
	}
	return all
}

// checkFits fails when t leaves no room for its load, or cannot be encoded at all.
func checkFits(t *testing.T, joined *Part) {
	t.Helper()
	record, err := snapshot.AppendTopology(nil, joined.Snapshot(), snapshot.Position{})
	if err != nil {
		t.Fatalf("got %v, want a topology that can be encoded", err)
	}
	if most := snapshot.MaxMessageBytes - AdapterBytes - entryBytes*len(joined.Endpoints); len(record) > most {
		t.Errorf("got a record of %d bytes, want at most %d", len(record), most)
	}
}

func TestJoin(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	tests := []struct {
		name     string
		sources  []Source
		want     []string
		problems []string // what each has in it
	}{
		{"two sources", []Source{{"x", Part{Endpoints: []Endpoint{endpoint("b")}}},
			{"y", Part{Endpoints: []Endpoint{endpoint("a")}}}}, []string{"a", "b"}, nil},
		{"name in both", []Source{{"x", Part{Endpoints: []Endpoint{endpoint("a", "of x")}}},
			{"y", Part{Endpoints: []Endpoint{endpoint("a", "of y"), endpoint("b")}}}},
			[]string{"a", "b"}, []string{`y: endpoint name "a" is there already, in x`}},
		{"long label",
			[]Source{
				{"x",
					Part{Endpoints: []Endpoint{
						{Endpoint: snapshot.Endpoint{Name: "a", Address: "10.0.0.1:1",
							Labels: []snapshot.Label{{Key: "k", Value: long}}}}, endpoint("b")}}}},
			[]string{"b"}, []string{`x: endpoint "a" is left out`}},
		{"not UTF-8", []Source{{"x", Part{Endpoints: []Endpoint{endpoint("a", "\xff"), endpoint("b")}}}}, []string{"b"},
			[]string{`endpoint "a" is left out`}},
		{"no address",
			[]Source{
				{"x",
					Part{Endpoints: []Endpoint{{Endpoint: snapshot.Endpoint{Name: "a", Address: "nowhere"}},
						endpoint("b")}}}}, []string{"b"}, []string{`endpoint "a" is left out`}},
		{"no name", []Source{{"x", Part{Endpoints: []Endpoint{endpoint(""), endpoint("b")}}}}, []string{"b"},
			[]string{`endpoint "" is left out`}},
		{"objective twice", []Source{{"x", Part{Objectives: []snapshot.Objective{{Name: "o"}, {Name: "o"}}}}}, nil,
			[]string{`x: objectives: name "o" is there twice`}},
		{"long objective", []Source{{"x", Part{Objectives: []snapshot.Objective{{Name: long}}}}}, nil,
			[]string{"is left out"}},
		{"long rewrite", []Source{{"x", Part{Rewrites: []snapshot.Rewrite{{Models: []string{long}}}}}}, nil,
			[]string{"x: rewrite 1 is left out"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, problems := Join(test.sources)
			if !slices.Equal(names(got), test.want) {
				t.Errorf("got %q, want %q", names(got), test.want)
			}
			if len(problems) != len(test.problems) {
				t.Fatalf("got problems %q, want %q", problems, test.problems)
			}
			for i, want := range test.problems {
				if !strings.Contains(problems[i], want) {
					t.Errorf("got problem %q, want %q in it", problems[i], want)
				}
			}
			checkFits(t, got)
		})
	}
}

func TestJoinTakesTheFirstOfTwoObjectives(t *testing.T) {
	got, _ := Join([]Source{{"x", Part{Objectives: []snapshot.Objective{{Name: "o", Priority: 1}}}},
		{"y", Part{Objectives: []snapshot.Objective{{Name: "o", Priority: 2}}}}})
	if want := []snapshot.Objective{{Name: "o", Priority: 1}}; !reflect.DeepEqual(got.Objectives, want) {
		t.Errorf("got %+v, want %+v", got.Objectives, want)
	}
}

// TestJoinKeepsRules: rewrites and pools of all sources are there, in their order, beside their endpoints.
func TestJoinKeepsRules(t *testing.T) {
	rewrite := func(model string) snapshot.Rewrite {
		return snapshot.Rewrite{Models: []string{model}, Targets: []snapshot.RewriteTarget{{Model: "m", Weight: 1}}}
	}
	got, problems := Join([]Source{
		{"x", Part{Rewrites: []snapshot.Rewrite{rewrite("a"), rewrite("b")}, Pools: []string{"p"},
			Endpoints: []Endpoint{endpoint("e")}}},
		{"y", Part{Rewrites: []snapshot.Rewrite{rewrite("c")}, Pools: []string{"q", "r"}}},
	})
	want := &Part{Rewrites: []snapshot.Rewrite{rewrite("a"), rewrite("b"), rewrite("c")},
		Pools: []string{"p", "q", "r"}, Endpoints: []Endpoint{endpoint("e")}}
	if !reflect.DeepEqual(got, want) || len(problems) != 0 {
		t.Errorf("got %+v and problems %q, want %+v", got, problems, want)
	}
	if told := got.Snapshot(); len(told.Endpoints) != 1 || len(told.Rewrites) != 3 {
		t.Errorf("Envoys are told %d endpoints and %d rewrites, want 1 and 3", len(told.Endpoints), len(told.Rewrites))
	}
}

// TestJoinLeavesOutTooManyRules: rules that leave endpoints no room are left out, and the endpoints stay, also those
// that had no room beside them.
func TestJoinLeavesOutTooManyRules(t *testing.T) {
	for _, test := range []struct {
		name string
		n    int // objectives of some 1,000 bytes each
		kept bool
	}{{"a third of the room", maxBytes / 3000, true}, {"two thirds", 2 * maxBytes / 3000, false}} {
		t.Run(test.name, func(t *testing.T) {
			part := Part{Endpoints: []Endpoint{endpoint("a")}}
			for i := range maxBytes / 2000 {
				part.Endpoints[0].Models = append(part.Endpoints[0].Models, fmt.Sprintf("%0998d", i))
			}
			for i := range test.n {
				part.Objectives = append(part.Objectives,
					snapshot.Objective{Name: fmt.Sprintf("%05d", i) + strings.Repeat("x", 995)})
			}
			got, problems := Join([]Source{{"x", part}})
			checkFits(t, got)
			want := 0
			if test.kept {
				want = test.n
			}
			if len(got.Objectives) != want || len(got.Endpoints) != 1 || (len(problems) == 0) != test.kept {
				t.Errorf("got %d objectives, %d endpoints and problems %.200q, want %d, 1, and a problem: %v",
					len(got.Objectives), len(got.Endpoints), problems, want, !test.kept)
			}
		})
	}
}

// TestJoinLeavesOutWhatDoesNotFit: endpoints that fit stay, whatever the others' size, and one after the other, in the
// order of their names, has what room there is.
func TestJoinLeavesOutWhatDoesNotFit(t *testing.T) {
	// one is as large as its models, of some 1,000 bytes each, make it.
	one := func(name string, kilobytes int) Endpoint {
		e := endpoint(name)
		for i := range kilobytes {
			e.Models = append(e.Models, fmt.Sprintf("%0998d", i))
		}
		return e
	}
	var many Part
	for i := range 5000 {
		e := endpoint(fmt.Sprintf("e-%04d", i))
		e.Labels = []snapshot.Label{{Key: "k", Value: strings.Repeat("x", 1000)}}
		many.Endpoints = append(many.Endpoints, e)
	}
	record, err := size(snapshot.Topology{Endpoints: []snapshot.Endpoint{many.Endpoints[0].Endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	fit := maxBytes / (record + entryBytes)
	var first []string
	for i := range fit {
		first = append(first, fmt.Sprintf("e-%04d", i))
	}
	const room = maxBytes / 1000
	for _, test := range []struct {
		name     string
		part     Part
		want     []string
		problems []string // how each begins
	}{
		{"all", Part{Endpoints: []Endpoint{one("a", room/2), one("b", 1), one("c", 1)}}, []string{"a", "b", "c"}, nil},
		{"many alike", many, first, []string{fmt.Sprintf("%d of 5000 endpoints do not fit into one snapshot and are "+
			"left out, such as e-%04d; fewer endpoints", 5000-fit, fit)}},
		{"one too large among small ones", Part{Endpoints: []Endpoint{one("a", 1), one("b", room+1), one("c", 1)}},
			[]string{"a", "c"}, []string{"1 of 3 endpoints do not fit into one snapshot and are left out, such as b;"}},
		{"two that have no room beside a third",
			Part{Endpoints: []Endpoint{one("c", room/2), one("a", room*2/3), one("b", room/2), one("d", 1)}},
			[]string{"a", "d"}, []string{"2 of 4 endpoints do not fit into one snapshot and are left out, such as b;"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, problems := Join([]Source{{"x", test.part}})
			checkFits(t, got)
			if !slices.Equal(names(got), test.want) {
				t.Errorf("got %d endpoints, %.100q, want %d, %.100q", len(got.Endpoints), names(got), len(test.want),
					test.want)
			}
			if !slices.EqualFunc(problems, test.problems, strings.HasPrefix) {
				t.Errorf("got %q, want %q", problems, test.problems)
			}
		})
	}
}

func TestAddModels(t *testing.T) {
	list := func(n int) (models []string) {
		for i := range n {
			models = append(models, strings.Repeat("m", 507)+fmt.Sprintf("%05d", i))
		}
		return models
	}
	var part Part
	told := map[string][]string{}
	for i := range 40 {
		name := fmt.Sprintf("server-%02d", i)
		part.Endpoints = append(part.Endpoints, endpoint(name))
		told[name] = list(256)
	}
	part.Endpoints = append(part.Endpoints, endpoint("said", "m"), endpoint("short"), endpoint("silent"))
	told["said"], told["short"] = list(1), []string{"a", "b"}
	joined, _ := Join([]Source{{"x", part}})
	problem := AddModels(joined, func(e *Endpoint) ([]string, int) { return told[e.Name], 2 })
	checkFits(t, joined)
	kept := len(joined.Endpoints[1].Models)
	for _, e := range joined.Endpoints {
		switch e.Name {
		case "said":
			if !slices.Equal(e.Models, []string{"m"}) || e.BaseModels != 0 {
				t.Errorf("%s: got %q, %d base models, want what its source says", e.Name, e.Models, e.BaseModels)
			}
		case "short":
			if !slices.Equal(e.Models, []string{"a", "b"}) || e.BaseModels != 2 {
				t.Errorf("%s: got %q, %d base models, want all of a short list, two", e.Name, e.Models, e.BaseModels)
			}
		case "silent":
			if e.Models != nil {
				t.Errorf("%s: got %q, want none", e.Name, e.Models)
			}
		default:
			if n := len(e.Models); n < 100 || n == 256 || n < kept-1 || n > kept+1 ||
				!slices.Equal(e.Models, told[e.Name][:n]) {
				t.Errorf("%s: got %d models, want the first of its list, as many as the others have", e.Name, n)
			}
		}
	}
	cut := 0
	for _, e := range joined.Endpoints {
		cut += len(told[e.Name]) - len(e.Models)
	}
	if want := fmt.Sprintf("models: %d names at 40 of 43 endpoints, such as server-00, do not fit into one snapshot",
		cut); !strings.HasPrefix(problem, want) {
		t.Errorf("got %q, want %q", problem, want)
	}
	if again, _ := Join([]Source{{"x", part}}); AddModels(again,
		func(e *Endpoint) ([]string, int) { return told[e.Name][:min(10, len(told[e.Name]))], 1 }) != "" {
		t.Error("got a problem with lists that fit, want none")
	}
}

// TestPartly: an error beside a part is told apart from one in its place, and none is none.
func TestPartly(t *testing.T) {
	why := errors.New("forbidden")
	for _, test := range []struct {
		name   string
		err    error
		partly bool
		is     bool // why, or because of it
	}{{"none", nil, false, false}, {"in its place", why, false, true}, {"beside none", Partly(nil), false, false},
		{"beside", Partly(why), true, true}, {"beside twice", Partly(Partly(why)), true, true}} {
		if IsPartly(test.err) != test.partly || errors.Is(test.err, why) != test.is || (test.err == nil) == test.is {
			t.Errorf("%s: got %v, partly: %v, want %v, and why: %v", test.name, test.err, IsPartly(test.err),
				test.partly, test.is)
		}
	}
}
