package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// TestWatchThatLists: where a watch begins with what is there, no list is asked for again that was refused once. What
// is there was told when the end of it is marked, and for a watch that marks none with the first event. That the watch
// was opened says nothing, and when it fails before that the reflector is to list.
func TestWatchThatLists(t *testing.T) {
	yes := true
	first := metav1.ListOptions{SendInitialEvents: &yes}
	pod := watch.Event{Type: watch.Added, Object: &corev1.Pod{}}
	mark := watch.Event{Type: watch.Bookmark, Object: &corev1.Pod{}}
	odd := func(code int32, reason metav1.StatusReason) watch.Event {
		return watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Code: code,
			Reason: reason, Message: "odd"}}
	}
	for _, test := range []struct {
		name    string
		options metav1.ListOptions
		events  []watch.Event // after which the watch ends
		fails   string        // empty for not at all
		hears   string        // what the reflector hears
	}{
		{"of changes", metav1.ListOptions{ResourceVersion: "1"}, []watch.Event{pod, mark}, "forbidden",
			"ADDED BOOKMARK"},
		{"marked", first, []watch.Event{pod, mark, pod}, "", "ADDED BOOKMARK ADDED"},
		{"nothing, marked", first, []watch.Event{mark}, "", "BOOKMARK"},
		{"not marked", first, []watch.Event{pod}, "ended the watch", "ADDED 500"},
		{"nothing", first, nil, "ended the watch", "500"},
		{"busy", first, []watch.Event{odd(429, metav1.StatusReasonTooManyRequests)}, "odd", "500"},
		{"too old", first, []watch.Event{odd(410, metav1.StatusReasonExpired)}, "forbidden", "410"},
		{"an error later", first, []watch.Event{mark, odd(429, metav1.StatusReasonTooManyRequests)}, "",
			"BOOKMARK 429"},
		{"nothing to mark", metav1.ListOptions{}, []watch.Event{pod}, "", "ADDED"},
		{"nothing to mark and nothing there", metav1.ListOptions{}, nil, "ended the watch", "500"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &watcher{changed: func() {}}
			told := make(chan watch.Event, len(test.events))
			source := w.observed(&cache.ListWatch{
				ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
					return nil, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("forbidden"))
				},
				WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
					return watch.NewProxyWatcher(told), nil
				},
			})
			_, _ = source.ListWithContext(t.Context(), metav1.ListOptions{})
			events, err := source.WatchWithContext(t.Context(), test.options)
			if err != nil {
				t.Fatal(err)
			}
			if begins(test.options) && w.failure() == nil {
				t.Error("an opened watch ends the failure of the list")
			}
			for _, e := range test.events {
				told <- e
			}
			close(told)
			var got []string
			for e := range events.ResultChan() {
				if status, ok := e.Object.(*metav1.Status); ok {
					got = append(got, fmt.Sprint(status.Code))
					continue
				}
				got = append(got, string(e.Type))
			}
			if got := strings.Join(got, " "); got != test.hears {
				t.Errorf("the reflector hears %q, want %q", got, test.hears)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			last := fmt.Sprint(w.problems)
			if test.fails == "" != (w.problems == [2]error{}) || !strings.Contains(last, test.fails) {
				t.Errorf("got the failures %s, want %q", last, test.fails)
			}
		})
	}
}

// TestRefusedWatch: the reflector lists when the watch that begins with what is there cannot be opened. After these
// errors it would wait for that watch alone, and not end when it is to.
func TestRefusedWatch(t *testing.T) {
	yes := true
	for _, test := range []struct {
		name string
		err  error
	}{
		{"nobody listens", syscall.ECONNREFUSED},
		{"busy", apierrors.NewTooManyRequests("odd", 1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &watcher{changed: func() {}}
			source := w.observed(&cache.ListWatch{
				WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
					return nil, test.err
				},
			})
			_, err := source.WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: &yes})
			if err == nil || errors.Is(err, test.err) || err.Error() != test.err.Error() {
				t.Errorf("got %v, want the text of %v without what it is", err, test.err)
			}
			if got := w.failure(); !errors.Is(got, test.err) {
				t.Errorf("noted %v, want %v", got, test.err)
			}
			_, err = source.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
			if !errors.Is(err, test.err) {
				t.Errorf("got %v of a watch of changes, want %v", err, test.err)
			}
		})
	}
}
