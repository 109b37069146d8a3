package sidecar

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// worldAPI is as much of an API server as lists and watches the pods of a namespace.
type worldAPI struct {
	listening

	mu      sync.Mutex
	fails   bool
	pods    map[string]*corev1.Pod
	version int
	events  []metav1.WatchEvent // the i-th made version i+1
	oldest  int                 // the first version that a watch may begin at
	changed chan struct{}       // closed at a change
}

func newWorldAPI(t testing.TB, address string) *worldAPI {
	a := &worldAPI{listening: listening{t: t, address: address}, pods: map[string]*corev1.Pod{},
		changed: make(chan struct{})}
	a.handler = a
	a.start()
	t.Cleanup(a.stop)
	return a
}

// put has the API server have a pod, or have it no longer where pod is nil.
func (a *worldAPI) put(name string, pod *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.pods[name]
	if before == nil && pod == nil {
		return
	}
	a.version++
	e := metav1.WatchEvent{Type: "MODIFIED"}
	switch {
	case pod == nil:
		e.Type, pod = "DELETED", before.DeepCopy()
		delete(a.pods, name)
	case before == nil:
		e.Type = "ADDED"
		a.pods[name] = pod
	default:
		a.pods[name] = pod
	}
	pod.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	pod.ResourceVersion = strconv.Itoa(a.version)
	raw, err := json.Marshal(pod)
	if err != nil {
		a.t.Fatal(err)
	}
	e.Object.Raw = raw
	a.events = append(a.events, e)
	a.wake()
}

func (a *worldAPI) wake() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// forget has watches end, and such fail that would begin before now.
func (a *worldAPI) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.oldest = a.version
	a.wake()
}

func (a *worldAPI) setFails(fails bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fails = fails
	a.wake()
}

func (a *worldAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	refuse := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: metav1.StatusFailure, Reason: reason, Code: int32(code)})
	}
	query := r.URL.Query()
	a.mu.Lock()
	fails, version, oldest := a.fails, a.version, a.oldest
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(version)}, Items: []corev1.Pod{}}
	for _, pod := range a.pods {
		list.Items = append(list.Items, *pod)
	}
	a.mu.Unlock()
	switch {
	case fails:
		refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError)
	case query.Get("watch") == "":
		_ = json.NewEncoder(w).Encode(list)
	case query.Get("sendInitialEvents") == "true":
		refuse(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	default:
		from, _ := strconv.Atoi(query.Get("resourceVersion"))
		if from < oldest {
			refuse(http.StatusGone, metav1.StatusReasonExpired)
			return
		}
		a.watch(w, r, from)
	}
}

func (a *worldAPI) watch(w http.ResponseWriter, r *http.Request, from int) {
	for flush := http.NewResponseController(w).Flush; ; {
		a.mu.Lock()
		events, changed, gone := a.events, a.changed, a.fails || from < a.oldest
		a.mu.Unlock()
		if gone {
			return
		}
		for ; from < len(events); from++ {
			if err := json.NewEncoder(w).Encode(events[from]); err != nil {
				return
			}
		}
		if flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
