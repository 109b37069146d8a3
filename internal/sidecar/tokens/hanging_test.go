package tokens

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// answers is how a server is reached that answers within the test.
type answers func(r *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// TestHangingEngine: one that hangs, as a machine that is cut off does, leaves time to ask another one.
func TestHangingEngine(t *testing.T) {
	hangs := answers(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	well := answers(func(r *http.Request) (*http.Response, error) {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"tokens":[7,8]}`))}, nil
	})
	for _, tc := range []struct {
		name    string
		servers []answers
		want    []uint32
	}{
		{"none hangs", []answers{well, hangs}, []uint32{7, 8}},
		{"the first hangs", []answers{hangs, well}, []uint32{7, 8}},
		{"both hang", []answers{hangs, hangs}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var servers fixed
				for _, answer := range tc.servers {
					servers = append(servers, Server{URL: "http://engine", Client: &http.Client{Transport: answer}})
				}
				pool := newPool(&engines{servers: servers}, 1)
				got, err := pool.Tokens(t.Context(), &Prompt{Model: "m", Text: "a"})
				if !slices.Equal(got.Tokens, tc.want) || (err == nil) != (tc.want != nil) {
					t.Errorf("got %v and %v, want %v", got.Tokens, err, tc.want)
				}
			})
		})
	}
}
