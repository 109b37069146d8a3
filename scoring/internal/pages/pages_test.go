package pages_test

import (
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/pages"
)

// TestWhole: a block is as many whole pages as make 64 tokens or more.
func TestWhole(t *testing.T) {
	for page, want := range map[int]int{1: 64, 16: 64, 48: 96, 63: 126, 64: 64, 65: 65, 528: 528, 65536: 65536} {
		if got := pages.Whole(page); got != want {
			t.Errorf("pages of %d tokens: blocks of %d, want %d", page, got, want)
		}
	}
}

// pool has a server for each size of pages.
func pool(sizes ...int) *scoring.Pool {
	p := &scoring.Pool{}
	for _, size := range sizes {
		p.Endpoints = append(p.Endpoints, scoring.Endpoint{Metrics: scoring.Metrics{KVBlockTokens: size}})
	}
	return p
}

// TestMajority: most servers' pages say how large a block is, and what nobody says any more stays as it was.
func TestMajority(t *testing.T) {
	for _, tc := range []struct {
		name       string
		last, then []int
		want       int
	}{
		{"nobody", nil, nil, 0},
		{"nobody knows", nil, []int{0, 0}, 0},
		{"one knows", nil, []int{0, 128, 0}, 128},
		{"most of them", nil, []int{528, 128, 528}, 528},
		{"most of the blocks, not of the pages", nil, []int{528, 16, 32, 528, 64}, 64},
		{"the smallest of equally many", nil, []int{528, 128}, 128},
		{"the smallest of equally many, in front", nil, []int{128, 528}, 128},
		{"the largest page that is believed", nil, []int{4096}, 4096},
		{"a larger one", nil, []int{4097}, 0},
		{"less than none", nil, []int{-1}, 0},
		{"as it was", []int{128}, []int{0, 0}, 128},
		{"another than it was", []int{128, 128, 128}, []int{0, 256}, 256},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := pages.Vote{}
			v.Majority(pool(tc.last...))
			for range 2 { // the first count is none of the second one's
				if got := v.Majority(pool(tc.then...)); got != tc.want {
					t.Errorf("got blocks of %d tokens, want %d", got, tc.want)
				}
			}
		})
	}
}

// TestCapacity: how many blocks an endpoint has room for, rounded up, by its pages.
func TestCapacity(t *testing.T) {
	for _, tc := range []struct {
		name               string
		pages, size, block int
		want               int
	}{
		{"nothing reported", 0, 0, 64, 0},
		{"a number of pages alone", 100, 0, 64, 100},
		{"pages of blocks", 100, 64, 64, 100},
		{"four pages a block", 100, 16, 64, 25},
		{"a part of a block", 101, 16, 64, 26},
		{"two blocks a page", 100, 128, 64, 200},
		{"pages of one token", 64, 1, 64, 1},
		{"the most", 1 << 24, 64, 64, 1 << 24},
		{"more", 1<<24 + 1, 64, 64, 1 << 24},
		{"more than 32 bits hold", 1<<31 - 1, 1<<31 - 1, 1 << 10, 1 << 24},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := scoring.Endpoint{Metrics: scoring.Metrics{KVBlocks: tc.pages, KVBlockTokens: tc.size}}
			if got := pages.Capacity(&e, tc.block); got != tc.want {
				t.Errorf("room for %d blocks, want %d", got, tc.want)
			}
		})
	}
}
