package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// answers is an API server that says what a test has it say of the namespace ns, in JSON, by resources such as pods or
// inferencepools.inference.networking.k8s.io. It knows no watch that begins with what is there.
type answers struct {
	mu      sync.Mutex
	codes   map[string]int // 0 is 200
	items   map[string][]string
	said    map[string]int           // how often what a resource answers has changed, its version
	changed map[string]chan struct{} // closed to have the watches of a resource end as too old
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	w.Header().Set("Content-Type", "application/json")
	if len(path) < 4 {
		a.describe(w, r.URL.Path)
		return
	}
	resource := path[len(path)-1]
	kind := "PodList"
	if path[0] == "apis" {
		resource, kind = resource+"."+path[1], "ThingList"
	}
	a.mu.Lock()
	code, items, changed := a.codes[resource], a.items[resource], a.changed[resource]
	version := strconv.Itoa(1 + a.said[resource])
	if changed == nil {
		changed = make(chan struct{})
		a.changed[resource] = changed
	}
	a.mu.Unlock()
	query := r.URL.Query()
	if code == 0 && query.Get("sendInitialEvents") == "true" {
		code = http.StatusUnprocessableEntity
	}
	if code != 0 {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"odd"}`,
			code, map[int]string{403: "Forbidden", 404: "NotFound", 422: "Invalid", 429: "TooManyRequests"}[code])
		return
	}
	if query.Get("watch") == "" {
		fmt.Fprintf(w, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":%q},"items":[%s]}`, kind,
			strings.Join(path[1:len(path)-3], "/"), version, strings.Join(items, ","))
		return
	}
	answerWatch(w, r, items, version, changed)
}

// answerWatch answers a watch of what has that version now, until that changes. One of an earlier version, which a list
// has told just before, is too old at once.
func answerWatch(w http.ResponseWriter, r *http.Request, items []string, version string, changed <-chan struct{}) {
	since := r.URL.Query().Get("resourceVersion")
	if since == "" {
		for _, item := range items {
			fmt.Fprintf(w, `{"type":"ADDED","object":%s}`, item)
		}
	}
	if since == "" || since == version {
		_, _ = fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1",
			"metadata":{"resourceVersion":%q}}}`, version)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
	_, _ = fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",
		"code":410,"reason":"Expired","message":"too old resource version"}}`)
}

// describe says which versions a group has, and which resources a version, of those that the test made known.
func (a *answers) describe(w http.ResponseWriter, path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.items[path] == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	fmt.Fprint(w, a.items[path][0])
}

// say has a resource answer with a code, 0 for 200 and these objects, from now on.
func (a *answers) say(resource string, code int, items ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.codes[resource], a.items[resource] = code, items
	a.said[resource]++
	if changed := a.changed[resource]; changed != nil {
		close(changed)
		a.changed[resource] = nil
	}
}

// heard is what a discovery tells: endpoints and objectives, and what goes wrong.
type heard struct {
	t     *testing.T
	told  chan string
	names string // of the last endpoints and objectives; "nothing" before the first
}

// listen runs a discovery of the InferencePool llama until the test ends.
func (a *answers) listen(t *testing.T) *heard {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	d := of(t, server.URL, Pool{InferencePool: "llama"})
	h := &heard{t: t, told: make(chan string, 1000), names: "nothing"}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx, func(part topology.Part, err error) {
			if err == nil || topology.IsPartly(err) {
				names := namesOf(&part)
				for _, o := range part.Objectives {
					names = append(names, o.Name)
				}
				h.names = strings.Join(names, " ")
			}
			h.told <- strings.TrimSpace(fmt.Sprint(h.names, "; ", err))
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return h
}

// await waits until names are the last ones, with an error that has text; empty is none.
func (h *heard) await(what, names, text string) {
	h.t.Helper()
	want, last := names+"; ", ""
	if text == "" {
		want += "<nil>"
	}
	for deadline := time.After(time.Minute); ; {
		select {
		case last = <-h.told:
			if strings.HasPrefix(last, want) && strings.Contains(last, text) {
				return
			}
		case <-deadline:
			h.t.Fatalf("waited in vain for %s: %s; %q, last %q", what, names, text, last)
		}
	}
}

const (
	thePools      = "inferencepools.inference.networking.k8s.io"
	theObjectives = "inferenceobjectives.llm-d.ai"
	aPool         = `{"apiVersion":"inference.networking.k8s.io/v1","kind":"InferencePool",
		"metadata":{"namespace":"ns","name":"llama"},
		"spec":{"selector":{"matchLabels":{"app":"a"}},"targetPorts":[{"number":8000}]}}`
)

func aPod(name, ip string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"ns","name":%q,"labels":{"app":"a"}},
		"status":{"phase":"Running","podIP":%q,"conditions":[{"type":"Ready","status":"True"}]}}`, name, ip)
}

func anObjective(name, priority string) string {
	return fmt.Sprintf(`{"apiVersion":"llm-d.ai/v1alpha2","kind":"InferenceObjective",
		"metadata":{"namespace":"ns","name":%q},"spec":{"priority":%s,"poolRef":{"name":"llama"}}}`, name, priority)
}

func newAnswers() *answers {
	a := &answers{codes: map[string]int{}, items: map[string][]string{}, said: map[string]int{},
		changed: map[string]chan struct{}{}}
	for _, k := range append(objectives, rewrites...) {
		a.codes[k.GroupResource().String()] = http.StatusNotFound
	}
	a.say(thePools, 0, aPool)
	a.say("pods", 0, aPod("p", "10.0.0.1"))
	return a
}

// TestOptionalKindFails: no endpoint waits for a kind that is of no use for them and cannot be listed, whatever the API
// server's reason is. It is read once it can be, and then stays as it was.
func TestOptionalKindFails(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"forbidden": http.StatusForbidden, "busy": http.StatusTooManyRequests,
		"cannot be read": http.StatusInternalServerError} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAnswers()
			a.say(theObjectives, code)
			h := a.listen(t)
			h.await("the pod, and word of the kind", "ns/p=10.0.0.1:8000", "watch "+theObjectives)
			a.say(theObjectives, 0, anObjective("batch", "-1"))
			h.await("the objective", "ns/p=10.0.0.1:8000 batch", "")
			a.say(theObjectives, code)
			h.await("the last objective", "ns/p=10.0.0.1:8000 batch", "watch "+theObjectives)
		})
	}
}

// TestNeededKindFails: endpoints wait for the kinds that say which there are, with word of what is waited for, and
// later stay as they are.
func TestNeededKindFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, resource string
		code           int
	}{
		{"no right to see pods", "pods", http.StatusForbidden},
		{"busy with pods", "pods", http.StatusTooManyRequests},
		{"no kind of pools", thePools, http.StatusNotFound},
		{"pools that cannot be read", thePools, http.StatusInternalServerError},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := newAnswers()
			good := a.items[test.resource]
			a.say(test.resource, test.code)
			a.say(theObjectives, http.StatusInternalServerError)
			h := a.listen(t)
			h.await("word of the kind", "nothing", "watch "+test.resource)
			a.say(test.resource, 0, good...)
			h.await("the pod", "ns/p=10.0.0.1:8000", "watch "+theObjectives)
			a.say(theObjectives, http.StatusNotFound)
			h.await("no kind of objectives", "ns/p=10.0.0.1:8000", "")
			a.say(test.resource, test.code)
			h.await("the last pod", "ns/p=10.0.0.1:8000", "watch "+test.resource)
			a.say(test.resource, 0, good...)
			h.await("no problem", "ns/p=10.0.0.1:8000", "")
		})
	}
}

// TestUnreadablePool: endpoints wait for an InferencePool that cannot be read at the start, with word of it, and later
// stay as they are.
func TestUnreadablePool(t *testing.T) {
	t.Parallel()
	a := newAnswers()
	odd := strings.Replace(aPool, "8000", `"http"`, 1)
	a.say(thePools, 0, odd)
	h := a.listen(t)
	h.await("word of the pool", "nothing", "ns/llama cannot be read: spec.targetPorts.number: string does not fit")
	a.say(thePools, 0, aPool)
	h.await("the pod", "ns/p=10.0.0.1:8000", "")
	a.say(thePools, 0, odd)
	h.await("the last pod", "ns/p=10.0.0.1:8000", "ns/llama holds as it was before: ")
}

// TestListAnew: a watch that is too old is followed by a list, and what is there no longer is gone.
func TestListAnew(t *testing.T) {
	t.Parallel()
	a := newAnswers()
	a.say("pods", 0, aPod("p", "10.0.0.1"), aPod("q", "10.0.0.2"))
	a.say(theObjectives, 0, anObjective("a", "1"), anObjective("b", `"low"`))
	h := a.listen(t)
	h.await("both, but for what cannot be read", "ns/p=10.0.0.1:8000 ns/q=10.0.0.2:8000 a",
		"InferenceObjective.llm-d.ai ns/b is left out: spec.priority: string does not fit")
	a.say("pods", 0, aPod("q", "10.0.0.3"))
	h.await("one less, and a new one of the other's name", "ns/q=10.0.0.3:8000 a", "ns/b")
	a.say(theObjectives, 0, anObjective("b", "2"))
	h.await("the other objective", "ns/q=10.0.0.3:8000 b", "")
	a.say("pods", 0)
	h.await("no pod", "b", "")
}

// TestKindOfAnotherVersion: objects that the API server has in another version alone are not taken for none, but stay
// as they were read last, and a kind that is in no version has none.
func TestKindOfAnotherVersion(t *testing.T) {
	t.Parallel()
	a := newAnswers()
	a.say("/apis/llm-d.ai", 0, `{"versions":[{"version":"v1alpha2","groupVersion":"llm-d.ai/v1alpha2"},
		{"version":"v1","groupVersion":"llm-d.ai/v1"}]}`)
	a.say("/apis/llm-d.ai/v1", 0, `{"resources":[{"name":"inferenceobjectives"}]}`)
	a.say(theObjectives, 0, anObjective("batch", "-1"))
	h := a.listen(t)
	h.await("the objective", "ns/p=10.0.0.1:8000 batch", "")
	a.say(theObjectives, http.StatusNotFound)
	h.await("the last objective", "ns/p=10.0.0.1:8000 batch",
		"watch "+theObjectives+": the API server has them in the version v1, and not in v1alpha2, which is read")
	h = a.listen(t)
	h.await("no objective at first", "ns/p=10.0.0.1:8000", "in the version v1, and not in v1alpha2")
	a.say("/apis/llm-d.ai/v1", 0, `{"resources":[{"name":"models"}]}`)
	h.await("no problem without the kind", "ns/p=10.0.0.1:8000", "")
}
