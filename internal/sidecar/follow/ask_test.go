package follow

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestAsksAgainAfterAFailure: an Envoy that did not answer is asked again soon, however seldom it is asked else.
func TestAsksAgainAfterAFailure(t *testing.T) {
	e, ingest := newEnvoy(t)
	s := &told{}
	f := newFollower(ingest, s, time.Hour)
	e.status = 503
	go f.Run(t.Context())
	harness.WaitFor(t, time.Minute, "a failure", func() (bool, string) { return f.Now().Failure != "", "none" })
	e.mu.Lock()
	e.status = 0
	e.mu.Unlock()
	e.decide("m", 1)
	expect(t, s, "decided m other")
}

// TestAnswersThatAreNone: of what an ingest listener answers in place of a journal, that which asking again may change
// is told apart from that which it does not.
func TestAnswersThatAreNone(t *testing.T) {
	for _, test := range []struct {
		name    string
		status  int
		want    string
		refused bool
	}{
		{"a wrong token", 401, "the ingest listener answered 401 Unauthorized: no: refused", true},
		{"a question that is too large", 413,
			"the ingest listener answered 413 Request Entity Too Large: no: refused", true},
		{"it is not there", 404, "the ingest listener answered 404: it lacks the plug-in with this port or socket as " +
			"its ingest, or its filter is of a version that cannot be followed: refused", true},
		{"it fails", 500, "the ingest listener answered 500 Internal Server Error", false},
		{"it is overloaded", 503, "the ingest listener answered 503 Service Unavailable", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, ingest := newEnvoy(t)
			e.status, e.text = test.status, "no"
			f := newFollower(ingest, &told{}, time.Hour)
			f.client = http.DefaultClient
			_, err := f.get(t.Context(), journalPath, new(bytes.Buffer))
			if err == nil || err.Error() != test.want || errors.Is(err, errRefused) != test.refused {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
