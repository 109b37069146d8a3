package kubernetes

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// decoded is an object of the namespace ns as the API server's JSON has it.
func decoded(t *testing.T, apiVersion, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":"ns","name":%q}%s}`, apiVersion, kind, name,
		spec)
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

// TestOddRules: an objective or a rewrite that cannot be read is left out and named, and costs neither an endpoint nor
// another rule. That of another pool is nobody's business here.
func TestOddRules(t *testing.T) {
	const ours = `"poolRef":{"name":"llama"}`
	for _, test := range []struct {
		name, kind, spec string
		want             string // of the error; empty for none
	}{
		{"no spec", "InferenceObjective", ``, ""},
		{"an empty spec", "InferenceObjective", `,"spec":null`, ""},
		{"a spec of another type", "InferenceObjective", `,"spec":"urgent"`, "spec: string"},
		{"a priority in words", "InferenceObjective", `,"spec":{"priority":"high",` + ours + `}`,
			"spec.priority: string"},
		{"a priority before a broken pool", "InferenceObjective", `,"spec":{"priority":"high","poolRef":"llama"}`,
			"spec.poolRef: string"},
		{"a part of a priority", "InferenceObjective", `,"spec":{"priority":1.5,` + ours + `}`,
			"spec.priority: number 1.5"},
		{"a priority of no number of ours", "InferenceObjective", `,"spec":{"priority":1e300,` + ours + `}`,
			"spec.priority: number 1e+300"},
		{"another pool's", "InferenceObjective", `,"spec":{"poolRef":{"name":"other"},"priority":[]}`, ""},
		{"another kind of pool's", "InferenceObjective",
			`,"spec":{"poolRef":{"name":"llama","kind":"Service"},"priority":[]}`, ""},
		{"another group's pool's", "InferenceObjective",
			`,"spec":{"poolRef":{"name":"llama","group":"inference.networking.x-k8s.io"},"priority":1}`, ""},
		{"a pool's name that is none", "InferenceObjective", `,"spec":{"poolRef":{"name":7}}`,
			"spec.poolRef.name: number"},
		{"rules of another type", "InferenceModelRewrite", `,"spec":{` + ours + `,"rules":{}}`, "spec.rules: object"},
		{"a weight in words", "InferenceModelRewrite",
			`,"spec":{` + ours + `,"rules":[{"targets":[{"modelRewrite":"a"},{"modelRewrite":"b","weight":"all"}]}]}`,
			"spec.rules.targets.weight: string"},
		{"matches that say something else", "InferenceModelRewrite",
			`,"spec":{` + ours + `,"rules":[{"matches":["m"],"targets":[{"modelRewrite":"a"}]}]}`,
			"spec.rules.matches: string"},
		{"a target that names no model", "InferenceModelRewrite",
			`,"spec":{` + ours + `,"rules":[{"targets":[{"modelRewrite":"a"},{"modelRewrite":""}]}]}`,
			"spec.rules.targets.modelRewrite: nothing is there"},
	} {
		t.Run(test.name, func(t *testing.T) {
			resource := strings.ToLower(test.kind) + "s.llm-d.ai"
			objects := map[string][]any{
				"pods": {readyPod("p", "10.0.0.1", map[string]string{"app": "a"})},
				"inferencepools.inference.networking.k8s.io": {poolOf(map[string]any{"app": "a"}, 8000)},
				"inferenceobjectives.llm-d.ai": {decoded(t, "llm-d.ai/v1alpha2", "InferenceObjective", "batch",
					`,"spec":{"priority":-1,`+ours+`}`)},
				"inferencemodelrewrites.llm-d.ai": {decoded(t, "llm-d.ai/v1alpha2", "InferenceModelRewrite", "canary",
					`,"spec":{`+ours+`,"rules":[{"targets":[{"modelRewrite":"m"}]}]}`)},
			}
			objects[resource] = append(objects[resource], decoded(t, "llm-d.ai/v1alpha2", test.kind, "odd", test.spec))
			d := cached(t, []Pool{{InferencePool: "llama"}}, objects)
			part, err := d.part()
			want := ""
			if test.want != "" {
				want = test.kind + ".llm-d.ai ns/odd is left out: " + test.want
			}
			if got := fmt.Sprint(err); err == nil && want != "" || err != nil && !strings.HasPrefix(got, want) ||
				err != nil && want == "" {
				t.Errorf("got the error %v, want %q", err, want)
			}
			if got := strings.Join(namesOf(part), " "); got != "ns/p=10.0.0.1:8000" {
				t.Errorf("got the endpoints %q, want the pod", got)
			}
			if want := []snapshot.Objective{{Name: "batch", Priority: -1}}; !reflect.DeepEqual(part.Objectives, want) {
				t.Errorf("got the objectives %v, want %v", part.Objectives, want)
			}
			if len(part.Rewrites) != 1 || part.Rewrites[0].Targets[0].Model != "m" {
				t.Errorf("got the rewrites %v, want that to m alone", part.Rewrites)
			}
		})
	}
}

// TestAllOddRulesAreNamed: what cannot be read is told with what else goes wrong that no endpoint waits for, and the
// endpoints are told with that, though nothing else was read before.
func TestAllOddRulesAreNamed(t *testing.T) {
	odd := func(kind, name, spec string) any { return decoded(t, "llm-d.ai/v1alpha2", kind, name, spec) }
	d := cached(t, []Pool{{InferencePool: "llama"}, {Selector: "app=a", Ports: []string{"8000"}}}, map[string][]any{
		"pods": {readyPod("p", "10.0.0.1", map[string]string{"app": "a"})},
		"inferenceobjectives.llm-d.ai": {odd("InferenceObjective", "a", `,"spec":"x"`),
			odd("InferenceObjective", "b", `,"spec":[]`)},
		"inferencemodelrewrites.llm-d.ai": {odd("InferenceModelRewrite", "c", `,"spec":true`)},
	})
	part, err := d.part()
	got := []string{}
	var before told
	before.tell(part, topology.Partly(err), func(part topology.Part, err error) {
		got = append(namesOf(&part), strings.Split(err.Error(), "\n")...)
	})
	want := []string{"ns/p=10.0.0.1:8000",
		"InferenceObjective.llm-d.ai ns/a is left out: spec: string does not fit",
		"InferenceObjective.llm-d.ai ns/b is left out: spec: array does not fit",
		"InferenceModelRewrite.llm-d.ai ns/c is left out: spec: bool does not fit"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOddPool: an InferencePool that cannot be read is named and keeps the pods that it chose when it could be, and
// costs no other pool an endpoint once everything else was read.
func TestOddPool(t *testing.T) {
	const good = `,"spec":{"selector":{"matchLabels":{"app":"a"}},"targetPorts":[{"number":8000}]}`
	for _, test := range []struct {
		name, spec, want string
	}{
		{"no spec", ``, ""},
		{"a port that is too high", `,"spec":{"selector":{"matchLabels":{"app":"a"}},"targetPorts":[{"number":73536}]}`,
			"spec.targetPorts.number: number 73536"},
		{"a port below zero", `,"spec":{"targetPorts":[{"number":-57536}]}`, "spec.targetPorts.number: number -57536"},
		{"a port's name", `,"spec":{"targetPorts":[{"number":"http"}]}`, "spec.targetPorts.number: string"},
		{"ports as they were in v1alpha2", `,"spec":{"selector":{"app":"a"},"targetPorts":8000}`,
			"spec.targetPorts: number"},
		{"a label that is a number", `,"spec":{"selector":{"matchLabels":{"app":1}}}`,
			"spec.selector.matchLabels: number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := func(spec string) any {
				return decoded(t, "inference.networking.k8s.io/v1", "InferencePool", "llama", spec)
			}
			d := cached(t, []Pool{{InferencePool: "llama"}, {Selector: "app=b", Ports: []string{"9000"}}},
				map[string][]any{"pods": {readyPod("p", "10.0.0.1", map[string]string{"app": "a"}),
					readyPod("q", "10.0.0.2", map[string]string{"app": "b"})}})
			want := func(when, endpoints, says string) {
				t.Helper()
				part, err := d.part()
				if got := strings.Join(namesOf(part), " "); got != endpoints {
					t.Errorf("%s: got the endpoints %q, want %q", when, got, endpoints)
				}
				name := "InferencePool.inference.networking.k8s.io ns/llama " + says + test.want
				if fails := says != ""; (err != nil) != fails || fails && !strings.HasPrefix(err.Error(), name) {
					t.Errorf("%s: got the error %v, want %q: %v", when, err, name, fails)
				}
			}
			set := func(o any) {
				t.Helper()
				store := d.watchers[watched{inferencePools.GroupResource(), "ns"}].informer.GetStore()
				if err := store.Replace([]any{o}, ""); err != nil {
					t.Fatal(err)
				}
			}
			unread := "cannot be read: "
			if test.want == "" {
				unread = ""
			}
			want("before it is there", "ns/q=10.0.0.2:9000", "")
			set(pool(test.spec))
			want("at first", "ns/q=10.0.0.2:9000", unread)
			set(pool(good))
			want("once it can be read", "ns/p=10.0.0.1:8000 ns/q=10.0.0.2:9000", "")
			set(pool(test.spec))
			if unread != "" {
				want("later", "ns/p=10.0.0.1:8000 ns/q=10.0.0.2:9000", "holds as it was before: ")
			}
			gone := pool(good).(*unstructured.Unstructured)
			now := metav1.Now()
			gone.SetDeletionTimestamp(&now)
			set(gone)
			want("deleted", "ns/q=10.0.0.2:9000", "")
			set(pool(test.spec))
			want("a new one of the name", "ns/q=10.0.0.2:9000", unread)
		})
	}
}

// TestOddNumbers: a number that a snapshot cannot tell is the nearest one, never another one altogether.
func TestOddNumbers(t *testing.T) {
	rewrite := decoded(t, "llm-d.ai/v1alpha2", "InferenceModelRewrite", "r", `,"spec":{"poolRef":{"name":"llama"},
		"rules":[{"targets":[{"modelRewrite":"a","weight":4294967296},{"modelRewrite":"b","weight":-1}]}]}`)
	d := cached(t, []Pool{{InferencePool: "llama"}}, map[string][]any{"inferencemodelrewrites.llm-d.ai": {rewrite}})
	part := &topology.Part{}
	if err := d.rules(part); err != nil {
		t.Fatal(err)
	}
	want := []snapshot.Rewrite{{Targets: []snapshot.RewriteTarget{{Model: "a", Weight: math.MaxUint32}, {Model: "b"}}}}
	if !reflect.DeepEqual(part.Rewrites, want) {
		t.Errorf("got %v, want %v", part.Rewrites, want)
	}
}

// TestOddSlicePorts: a slice's port that is no port's number is none, and not that of its lowest 16 bits: the API
// server takes it.
func TestOddSlicePorts(t *testing.T) {
	for _, pool := range []Pool{{Service: "s"}, {Service: "s", Ports: []string{"low", "high", "zero"}}} {
		var slice discoveryv1.EndpointSlice
		text := `{"metadata":{"name":"s-1","namespace":"ns","labels":{"kubernetes.io/service-name":"s"}},
			"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],
			"ports":[{"name":"low","port":-57536},{"name":"high","port":73536},{"name":"zero","port":0}]}`
		if err := json.Unmarshal([]byte(text), &slice); err != nil {
			t.Fatal(err)
		}
		part, err := cached(t, []Pool{pool}, map[string][]any{"endpointslices.discovery.k8s.io": {&slice}}).part()
		if err != nil || len(part.Endpoints) > 0 {
			t.Errorf("with the ports %q: got the endpoints %q, %v, want none", pool.Ports, namesOf(part), err)
		}
	}
}

// TestNoPoolIsNamed: an objective that names no pool is of none, also beside a pool that is no InferencePool.
func TestNoPoolIsNamed(t *testing.T) {
	d := cached(t, []Pool{{InferencePool: "llama"}, {Selector: "app=a", Ports: []string{"8000"}}}, map[string][]any{
		"inferenceobjectives.llm-d.ai": {decoded(t, "llm-d.ai/v1alpha2", "InferenceObjective", "o",
			`,"spec":{"priority":5}`)},
	})
	if part, err := d.part(); err != nil || len(part.Objectives) > 0 {
		t.Errorf("got %v, %v, want no objective", part.Objectives, err)
	}
}

// TestOddPoolAtTheStart: a discovery that starts while an InferencePool cannot be read tells of nothing, as an Envoy
// may know the pool's endpoints from the sidecar before. Once all has been read a new pool may not be readable.
func TestOddPoolAtTheStart(t *testing.T) {
	pool := func(port string) any {
		return decoded(t, "inference.networking.k8s.io/v1", "InferencePool", "llama",
			`,"spec":{"selector":{"matchLabels":{"app":"a"}},"targetPorts":[{"number":`+port+`}]}`)
	}
	const odd = "InferencePool.inference.networking.k8s.io ns/llama"
	for _, test := range []struct {
		name  string
		pools []any    // one after another; nil is none
		want  []string // endpoints, and the beginning of what goes wrong
	}{
		{"not readable", []any{pool(`"http"`)}, []string{"nothing; " + odd}},
		{"mended", []any{pool(`"http"`), pool("8000")},
			[]string{"nothing; " + odd, "ns/p=10.0.0.1:8000 ns/q=10.0.0.2:9000; "}},
		{"taken away", []any{pool(`"http"`), nil},
			[]string{"nothing; " + odd, "ns/q=10.0.0.2:9000; "}},
		{"new and not readable", []any{nil, pool(`"http"`)},
			[]string{"ns/q=10.0.0.2:9000; ", "ns/q=10.0.0.2:9000; " + odd}},
		{"broken later", []any{pool("8000"), pool(`"http"`)}, []string{"ns/p=10.0.0.1:8000 ns/q=10.0.0.2:9000; ",
			"ns/p=10.0.0.1:8000 ns/q=10.0.0.2:9000; " + odd + " holds as it was before"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := cached(t, []Pool{{InferencePool: "llama"}, {Selector: "app=b", Ports: []string{"9000"}}},
				map[string][]any{"pods": {readyPod("p", "10.0.0.1", map[string]string{"app": "a"}),
					readyPod("q", "10.0.0.2", map[string]string{"app": "b"})}})
			for i, o := range test.pools {
				objects := []any{}
				if o != nil {
					objects = append(objects, o)
				}
				store := d.watchers[watched{inferencePools.GroupResource(), "ns"}].informer.GetStore()
				if err := store.Replace(objects, ""); err != nil {
					t.Fatal(err)
				}
				part, err := d.part()
				got := "nothing"
				if part != nil {
					got = strings.Join(namesOf(part), " ")
				}
				if got += "; "; err != nil {
					got += err.Error()
				}
				if !strings.HasPrefix(got, test.want[i]) {
					t.Errorf("step %d: got %q, want %q", i+1, got, test.want[i])
				}
			}
		})
	}
}
