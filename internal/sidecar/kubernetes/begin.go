package kubernetes

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
)

// lists reports whether a watch is asked to begin with what is there, as a list does, and to say where that ends.
func lists(o metav1.ListOptions) bool { return o.SendInitialEvents != nil && *o.SendInitialEvents }

// begins reports whether a watch is asked to begin with what is there.
func begins(o metav1.ListOptions) bool { return lists(o) || o.ResourceVersion == "" }

// refused is the error of a watch that was not opened, for the reflector. Where it is asked to list as well the
// reflector waits for the very same watch after some errors, without end and deaf to the end of its context; of the one
// that is returned then it lists instead.
func refused(o metav1.ListOptions, err error) error {
	if lists(o) && (utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)) {
		return errors.New(err.Error())
	}
	return err
}

// errNothingTold is why a watch failed that ended by itself.
var errNothingTold = errors.New("the API server ended the watch before it had told what there is")

// begun is a watch that begins with what is there, and is good once that was told. Opened is not enough: an API server
// that cannot read or convert what it has opens the watch all the same, and ends it later. The reflector then hears of
// an error of which it lists.
func (w *watcher) begun(ctx context.Context, o metav1.ListOptions, events watch.Interface) watch.Interface {
	to := make(chan watch.Event)
	told := watch.NewProxyWatcher(to)
	go func() {
		defer close(to)
		defer events.Stop()
		for good := false; ; {
			var e watch.Event
			open := true
			select {
			case <-told.StopChan():
				return
			case e, open = <-events.ResultChan():
			}
			switch {
			case good && !open || ctx.Err() != nil:
				return
			case !good && (!open || e.Type == watch.Error):
				e, open = w.failed(&e), false
			case !good && (e.Type == watch.Bookmark || !lists(o)):
				good = true
				w.note(listing, nil)
				w.note(watching, nil)
			}
			select {
			case <-told.StopChan():
				return
			case to <- e:
			}
			if !open {
				return
			}
		}
	}()
	return told
}

// failed notes why a watch has not begun, by its last event, which is empty when there was none, and returns what the
// reflector is to hear of it.
func (w *watcher) failed(last *watch.Event) watch.Event {
	err := errNothingTold
	if last.Object != nil {
		err = apierrors.FromObject(last.Object)
	}
	w.note(watching, err)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return *last
	}
	return watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure,
		Code: http.StatusInternalServerError, Message: err.Error()}}
}
