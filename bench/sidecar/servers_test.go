package main

import (
	"io"
	"net/http"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/stack"
)

func TestServers(t *testing.T) {
	port, err := stack.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := start(port, 1, 60, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.all[0].set(7, filler(60))
	for range 2 {
		response, err := http.Get("http://" + stack.Address(port) + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || len(page) < 60<<10 {
			t.Fatalf("got a page of %d bytes, %v, want 60 KB", len(page), err)
		}
		var got engine.Sample
		engine.NewParser(engine.Known.Detect(page)).Parse(page, &got)
		want := engine.Sample{WaitingRequests: 7, RunningRequests: 3, KVCacheUsage: .25, KVBlockTokens: 16,
			KVBlocks: 27644}
		if !got.Equal(&want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if n := s.scrapes(); n != 2 {
		t.Errorf("got %d scrapes, want 2", n)
	}
	for _, test := range []struct {
		name    string
		waiting int
		want    bool
	}{{"an old number", 6, false}, {"the new number", 7, true}, {"the new number again", 7, false}} {
		if _, got := s.all[0].seen(test.waiting); got != test.want {
			t.Errorf("%s: got seen=%v, want %v", test.name, got, test.want)
		}
	}
	before := s.overtaken()
	for waiting := 8; waiting < 11; waiting++ {
		s.all[0].set(waiting, "")
	}
	if n := s.overtaken() - before; n != 2 {
		t.Errorf("three changes of which none was seen: got %d that others have overtaken, want 2", n)
	}
}
