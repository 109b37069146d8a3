package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// api is as much of an API server as lists the running pods of the namespace ns, which has none, and watches them. It
// knows no watch that begins with what is there.
type api struct {
	t      *testing.T
	events chan metav1.WatchEvent
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	write := func(v any) {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			a.t.Errorf("%s: %v", r.URL, err)
		}
	}
	query := r.URL.Query()
	if r.URL.Path != "/api/v1/namespaces/ns/pods" || query.Get("fieldSelector") != "status.phase=Running" {
		a.t.Errorf("got a request for %s, want the running pods of ns", r.URL)
	}
	if query.Get("watch") == "" {
		write(corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"},
			ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{}})
		return
	}
	if query.Get("sendInitialEvents") == "true" {
		w.WriteHeader(http.StatusUnprocessableEntity)
		write(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity})
		return
	}
	for flush := http.NewResponseController(w).Flush; ; {
		if err := flush(); err != nil {
			return
		}
		select {
		case e := <-a.events:
			write(e)
		case <-r.Context().Done():
			return
		}
	}
}

// change tells of a pod.
func (a *api) change(kind string, pod *corev1.Pod) {
	a.t.Helper()
	raw, err := json.Marshal(pod)
	if err != nil {
		a.t.Fatal(err)
	}
	e := metav1.WatchEvent{Type: kind}
	e.Object.Raw = raw
	a.events <- e
}

// of is a discovery of pools of the namespace ns, from an API server.
func of(t *testing.T, url string, pools ...Pool) *Discovery {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"clusters":[{"name":"c","cluster":{"server":%q}}],"current-context":"c",`+
		`"contexts":[{"name":"c","context":{"cluster":"c"}}]}`, url)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := New(Config{Kubeconfig: file, Namespace: "ns", Pools: pools, Engine: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestRunFollowsPods: a list of nothing is told, and each event of a watch leads to a new list of endpoints.
func TestRunFollowsPods(t *testing.T) {
	version := 1
	pod := func(name, ip string, ready corev1.ConditionStatus) *corev1.Pod {
		version++
		p := readyPod(name, ip, map[string]string{"app": "a"})
		p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
		p.ResourceVersion, p.Status.Conditions[0].Status = fmt.Sprint(version), ready
		return p
	}
	a := &api{t: t, events: make(chan metav1.WatchEvent)}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close) // once the context has ended, and so the watch
	d := of(t, server.URL, Pool{Selector: "app=a", Ports: []string{"8000"}})
	told := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx, func(part topology.Part, err error) {
			if err != nil {
				t.Errorf("got %v, want no failure", err)
			}
			told <- strings.Join(namesOf(&part), " ")
		})
	}()
	want := func(what, want string) {
		t.Helper()
		select {
		case got := <-told:
			if got != want {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("waited in vain: %s", what)
		}
	}
	want("a list of nothing", "")
	a.change("ADDED", pod("p", "10.0.0.1", corev1.ConditionTrue))
	want("one", "ns/p=10.0.0.1:8000")
	a.change("ADDED", pod("q", "10.0.0.2", corev1.ConditionTrue))
	want("one more", "ns/p=10.0.0.1:8000 ns/q=10.0.0.2:8000")
	a.change("MODIFIED", pod("p", "10.0.0.1", corev1.ConditionFalse))
	want("no longer ready", "ns/q=10.0.0.2:8000")
	a.change("MODIFIED", pod("p", "10.0.0.1", corev1.ConditionTrue))
	want("ready again", "ns/p=10.0.0.1:8000 ns/q=10.0.0.2:8000")
	a.change("DELETED", pod("q", "10.0.0.2", corev1.ConditionTrue))
	want("deleted", "ns/p=10.0.0.1:8000")
	cancel()
	<-done
}
