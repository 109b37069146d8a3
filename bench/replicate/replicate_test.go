package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestPace: requests are due as often as is asked for, also while sending them takes longer than that.
func TestPace(t *testing.T) {
	const rate, calls = 1000, 30
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var dues []time.Time
	pace(ctx, rate, func(n int, due time.Time) {
		if n != len(dues) || due.After(time.Now()) {
			t.Errorf("call %d has number %d and is %v early", len(dues), n, time.Until(due))
		}
		dues = append(dues, due)
		time.Sleep(3 * time.Millisecond)
		if len(dues) == calls {
			cancel()
		}
	})
	if len(dues) != calls {
		t.Fatalf("got %d calls, want none after the end, which comes with %d", len(dues), calls)
	}
	for n, due := range dues {
		if want := dues[0].Add(time.Duration(n) * time.Second / rate); !due.Equal(want) {
			t.Errorf("request %d: due %v after the first one, want %v", n, due.Sub(dues[0]), want.Sub(dues[0]))
		}
	}
}

// TestComplete: a request that is refused is a failure, not one that went to a further server.
func TestComplete(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		fails  bool
	}{{"answered", http.StatusOK, false}, {"refused", http.StatusServiceUnavailable, true}} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Sim-Server", "sim-3")
				w.WriteHeader(test.status)
			}))
			defer server.Close()
			name, err := complete(server.Client(), server.URL)
			if name != "sim-3" || (err != nil) != test.fails {
				t.Errorf("got %q, %v, want sim-3 and an error: %v", name, err, test.fails)
			}
		})
	}
}
