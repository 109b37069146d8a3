package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// TestBeside: what a program takes is told beside another one that has scraped, too.
func TestBeside(t *testing.T) {
	own := cost{cores: 0.5, scrapes: 100}
	const want = "pintle takes 0.250 of the peer's processor time, 0.125 for each scrape"
	if got, err := own.beside(cost{cores: 2, scrapes: 50}); got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for name, peer := range map[string]cost{"scrapes nothing": {cores: 2}, "takes no time": {scrapes: 50}} {
		if got, err := own.beside(peer); err == nil || !strings.Contains(err.Error(), "the peer "+name) {
			t.Errorf("a peer that %s: got %q, %v, want an error that says so", name, got, err)
		}
	}
}

// TestCostOfAll: what a program has others do for it is its own.
func TestCostOfAll(t *testing.T) {
	s := &stack.Stack{Root: t.TempDir(), Dir: t.TempDir()}
	defer s.Close()
	p, err := s.Start("peer", "/bin/sh", "-c", "while :; do :; done & wait")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	got, err := measure(t.Context(), "peer", p, &servers{}, &ingest{},
		options{endpoints: 1, duration: 500 * time.Millisecond})
	if err != nil || got.cores == 0 {
		t.Errorf("got %v cores, %v, want those of the program that it has started", got.cores, err)
	}
}
