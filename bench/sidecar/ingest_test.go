package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestIngest: a change counts once, when it is posted first, and what was measured is told once.
func TestIngest(t *testing.T) {
	s := &servers{all: []*server{{}, {}}}
	i := &ingest{servers: s}
	post := func(waiting ...uint32) {
		var endpoints []harness.Endpoint
		for k, n := range waiting {
			endpoints = append(endpoints,
				harness.Endpoint{Name: string(rune('a' + k)), Address: "127.0.0.1:1", Waiting: n})
		}
		w := httptest.NewRecorder()
		i.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/",
			bytes.NewReader(harness.Message(harness.Now(), endpoints...))))
		if w.Code != http.StatusNoContent {
			t.Fatalf("got %d %s, want 204", w.Code, w.Body)
		}
	}
	s.all[0].set(3, "")
	s.all[1].set(4, "")
	for _, test := range []struct {
		name          string
		waiting       []uint32
		posts, delays int
	}{
		{"what was before", []uint32{1, 1}, 1, 0}, {"one of two", []uint32{3, 1}, 1, 1},
		{"both", []uint32{3, 4}, 1, 1}, {"again", []uint32{3, 4}, 1, 0}, {"not all servers", []uint32{3}, 0, 0},
	} {
		post(test.waiting...)
		if posts, delays := i.take(); posts != test.posts || len(delays) != test.delays {
			t.Errorf("%s: got %d posts with %d changes, want %d with %d", test.name, posts, len(delays), test.posts,
				test.delays)
		}
	}
}
