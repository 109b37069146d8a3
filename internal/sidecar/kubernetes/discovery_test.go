package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	gslices "slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestTell: a problem that lasts is told with what changes meanwhile, and nothing says that it is over before it is.
func TestTell(t *testing.T) {
	part := func(name string) *topology.Part {
		return &topology.Part{Endpoints: []topology.Endpoint{{Endpoint: snapshot.Endpoint{Name: name}}}}
	}
	forbidden, refused := errors.New("forbidden"), errors.New("refused")
	type step struct {
		part *topology.Part
		err  error
	}
	for _, test := range []struct {
		name  string
		steps []step
		want  []string
	}{
		{"all is well", []step{{part("a"), nil}, {part("a"), nil}, {part("b"), nil}}, []string{"a", "b"}},
		{"nothing was read yet", []step{{nil, refused}, {nil, refused}, {part("a"), nil}}, []string{"refused", "a"}},
		{"it fails and comes back", []step{{part("a"), nil}, {part("a"), refused}, {part("a"), refused},
			{part("a"), nil}}, []string{"a", "refused", "a"}},
		{"it fails for another reason", []step{{part("a"), refused}, {part("a"), forbidden}},
			[]string{"a but refused", "forbidden"}},
		{"what no endpoint waits for fails", []step{{part("a"), nil}, {part("a"), topology.Partly(forbidden)},
			{part("a"), topology.Partly(forbidden)}, {part("a"), refused}, {part("a"), nil}},
			[]string{"a", "a but forbidden", "refused", "a"}},
		{"one kind cannot be watched while another changes", []step{{part("a"), nil}, {part("a"), forbidden},
			{part("b"), forbidden}, {part("c"), forbidden}, {part("c"), nil}},
			[]string{"a", "forbidden", "b but forbidden", "c but forbidden", "c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var before told
			var got []string
			for _, s := range test.steps {
				before.tell(s.part, s.err, func(part topology.Part, err error) {
					switch {
					case err == nil:
						got = append(got, part.Endpoints[0].Name)
					case topology.IsPartly(err):
						got = append(got, fmt.Sprintf("%s but %v", part.Endpoints[0].Name, err))
					default:
						got = append(got, err.Error())
					}
				})
			}
			if !gslices.Equal(got, test.want) {
				t.Errorf("emits %q, want %q", got, test.want)
			}
		})
	}
}

// TestNoWatchThatLists: that an API server knows no watch that begins with what is there is no failure, and ends none.
func TestNoWatchThatLists(t *testing.T) {
	yes := true
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	for _, test := range []struct {
		name  string
		watch error
		fails bool
	}{
		{"all is well", nil, false},
		{"what it can does not go", forbidden, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &watcher{changed: func() {}}
			source := w.observed(&cache.ListWatch{
				WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
					if o.SendInitialEvents != nil {
						return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
					}
					return nil, test.watch
				},
			})
			for range 2 {
				_, _ = source.WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: &yes})
				if err := w.failure(); err != nil && !test.fails {
					t.Errorf("got %v from a watch that lists, want none", err)
				}
				_, _ = source.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
				if err := w.failure(); (err != nil) != test.fails {
					t.Errorf("got %v, want a failure: %v", err, test.fails)
				}
			}
			if _, err := source.WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: &yes}); err == nil {
				t.Error("the reflector does not hear of it")
			}
			if err := w.failure(); (err != nil) != test.fails {
				t.Errorf("got %v in the end, want a failure: %v", err, test.fails)
			}
		})
	}
}

// TestListedButNotWatched: a list that is answered does not end a watch's failure.
func TestListedButNotWatched(t *testing.T) {
	unknown := apierrors.NewNotFound(schema.GroupResource{}, "")
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	for _, test := range []struct {
		name        string
		optional    bool
		list, watch []error
		fails       bool
	}{
		{"all is well", false, []error{nil}, []error{nil}, false},
		{"no watch", false, []error{nil, nil}, []error{forbidden}, true},
		{"no list", false, []error{forbidden}, []error{nil}, true},
		{"it is back", false, []error{forbidden, nil}, []error{forbidden, nil}, false},
		{"the kind is gone", true, []error{nil, unknown}, []error{forbidden, unknown}, false},
		{"no right to an optional kind", true, []error{forbidden}, []error{forbidden}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var list, watching []error
			next := func(all *[]error) (err error) {
				err, *all = (*all)[0], (*all)[1:]
				return err
			}
			w := &watcher{kind: kind{optional: test.optional}, changed: func() {}}
			source := w.observed(&cache.ListWatch{
				ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
					return nil, next(&list)
				},
				WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
					return nil, next(&watching)
				},
			})
			list, watching = test.list, test.watch
			for len(list)+len(watching) > 0 {
				if len(watching) > 0 {
					_, _ = source.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
				}
				if len(list) > 0 {
					_, _ = source.ListWithContext(t.Context(), metav1.ListOptions{})
				}
			}
			if got := w.failure(); (got != nil) != test.fails {
				t.Errorf("got %v, want a failure: %v", got, test.fails)
			}
		})
	}
}

// TestOptionalAndForbidden: what may be missing is waited for by nobody, and what was there once stays.
func TestOptionalAndForbidden(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	for _, test := range []struct {
		name     string
		optional bool
		lists    []error
		want     bool
	}{
		{"an optional kind is empty", true, []error{forbidden}, true},
		{"an optional kind is still empty", true, []error{forbidden, forbidden}, true},
		{"an optional kind that was listed stays", true, []error{nil, forbidden}, false},
		{"another kind is waited for", false, []error{forbidden}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &watcher{kind: kind{optional: test.optional}, changed: func() {}}
			var answer error
			source := w.observed(&cache.ListWatch{
				ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
					return nil, answer
				},
			})
			var err error
			for _, answer = range test.lists {
				_, err = source.ListWithContext(t.Context(), metav1.ListOptions{})
			}
			if (err == nil) != test.want {
				t.Errorf("the last list is %v, want one: %v", err, test.want)
			}
			if w.failure() == nil {
				t.Error("nothing is said of it")
			}
		})
	}
}

// TestNote: whoever waits is woken when a failure comes, when it becomes another and when it goes, and a resource
// version that is too old says nothing of either. Only a list says what there is.
func TestNote(t *testing.T) {
	refused := func(port int) error { return fmt.Errorf("read tcp 10.0.0.1:%d: refused", port) }
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	expired := apierrors.NewResourceExpired("old")
	gone := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone}}
	woken := 0
	w := &watcher{changed: func() { woken++ }}
	for i, step := range []struct {
		what         int
		err          error
		woken        int
		fails, lists bool
	}{
		{watching, nil, 0, false, false},
		{watching, forbidden, 1, true, false},
		{watching, forbidden, 1, true, false},
		{watching, expired, 1, true, false},
		{watching, gone, 1, true, false},
		{listing, forbidden, 2, true, false},
		{listing, nil, 3, true, true},
		{watching, nil, 4, false, true},
		{watching, expired, 4, false, true},
		{watching, gone, 4, false, true},
		{listing, refused(1), 5, true, true},
		{listing, refused(2), 5, true, true},
		{listing, forbidden, 6, true, true},
		{listing, forbidden, 6, true, true},
	} {
		w.note(step.what, step.err)
		if got := w.failure(); woken != step.woken || (got != nil) != step.fails || w.wasListed() != step.lists {
			t.Errorf("step %d: woken %d times, failure %v, listed %v, want %d times, a failure %v, listed %v", i, woken,
				got, w.wasListed(), step.woken, step.fails, step.lists)
		}
	}
}

// TestStrip: what is never read of a pod takes no memory, and what is read stays.
func TestStrip(t *testing.T) {
	pod := readyPod("p", "10.0.0.1", map[string]string{"app": "a"})
	want := pod.DeepCopy()
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	pod.Spec.NodeName = "n"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "vllm"}}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init"}}
	if got, err := strip(pod); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err := strip("a tombstone"); err != nil || got != "a tombstone" {
		t.Errorf("got %v, %v, want what is no object as it is", got, err)
	}
}

// TestWhichFailuresAreTold: each kind that the API server does not tell of is named, those first that endpoints wait
// for, and an API server that cannot be reached is told of once.
func TestWhichFailuresAreTold(t *testing.T) {
	away := &url.Error{Op: "Get", URL: "https://api", Err: errors.New("connection refused")}
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	const (
		ofObjectives = "watch inferenceobjectives.llm-d.ai: "
		ofRewrites   = "watch inferencemodelrewrites.inference.networking.x-k8s.io: "
		ofSlices     = "watch endpointslices.discovery.k8s.io: "
		ofPods       = "watch pods: "
	)
	type failing struct {
		kind
		why error
	}
	for _, test := range []struct {
		name   string
		fails  []failing
		want   []string // how each line begins
		waited bool
	}{
		{"none", nil, nil, false},
		{"one that endpoints wait for", []failing{{slices, forbidden}}, []string{ofSlices}, true},
		{"two of them", []failing{{slices, forbidden}, {pods, forbidden}}, []string{ofPods, ofSlices}, true},
		{"one that may be missing", []failing{{objectives[0], forbidden}}, []string{ofObjectives}, false},
		{"two of them that may be missing", []failing{{rewrites[1], forbidden}, {objectives[0], forbidden}},
			[]string{ofObjectives, ofRewrites}, false},
		{"of both sorts", []failing{{objectives[0], forbidden}, {slices, forbidden}}, []string{ofSlices, ofObjectives},
			true},
		{"no API server", []failing{{objectives[0], away}, {rewrites[1], away}, {slices, away}, {pods, away}},
			[]string{ofPods}, true},
		{"one is away and another forbidden", []failing{{objectives[0], away}, {slices, forbidden}, {pods, away}},
			[]string{ofPods, ofSlices}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := cached(t, []Pool{{InferencePool: "llama"}, {Service: "vllm"}}, nil)
			for _, f := range test.fails {
				d.watchers[watched{f.GroupResource(), "ns"}].note(listing, f.why)
			}
			failure, waited := d.failure()
			if waited != test.waited {
				t.Errorf("waited for: got %v, want %v", waited, test.waited)
			}
			var lines []string
			if failure != nil {
				lines = strings.Split(failure.Error(), "\n")
			}
			if len(lines) != len(test.want) {
				t.Fatalf("got %q, want lines that begin with %q", lines, test.want)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("got %s, want %s...", lines[i], want)
				}
			}
			part, got := d.now()
			if part != nil || topology.IsPartly(got) || (got == nil) != (failure == nil) {
				t.Errorf("before all was listed: got the part %v, %v, want none, and the failure alone", part, got)
			}
		})
	}
}
