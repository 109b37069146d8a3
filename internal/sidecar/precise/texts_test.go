package precise

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// TestWhatIsToldOfTexts: the holders of a block are told of when it is new, when they were told of too long ago, and
// when its key stands for it no longer.
func TestWhatIsToldOfTexts(t *testing.T) {
	a, b := text{1, 10}, text{1, 20}
	const key, other kvindex.Key = 7, 8
	put := func(x *texts, t text, now, since int64) bool { return x.put(t, 0, key, now, since) }
	aged := func(x *texts) { x.old = x.young; x.young.init() }
	for _, test := range []struct {
		name string
		do   func(x *texts) (say bool)
		want bool
	}{
		{"new", func(x *texts) bool { return put(x, a, 5, 0) }, true},
		{"again", func(x *texts) bool { put(x, a, 5, 0); return put(x, a, 6, 4) }, false},
		{"at the same time", func(x *texts) bool { put(x, a, 5, 0); return put(x, a, 5, 4) }, true},
		{"told before that", func(x *texts) bool { put(x, a, 5, 0); return put(x, a, 6, 5) }, true},
		{"told again since", func(x *texts) bool { put(x, a, 5, 0); put(x, a, 6, 5); return put(x, a, 7, 5) }, false},
		{"another chain", func(x *texts) bool { put(x, a, 5, 0); return put(x, text{2, 10}, 6, 4) }, true},
		{"another key", func(x *texts) bool { put(x, a, 5, 0); return x.put(a, 0, other, 6, 4) }, true},
		{"of the last generation", func(x *texts) bool { put(x, a, 5, 0); aged(x); return put(x, a, 6, 4) }, false},
		{"of the one before", func(x *texts) bool { put(x, a, 5, 0); aged(x); aged(x); return put(x, a, 6, 4) }, true},
		{"after its key was forgotten", func(x *texts) bool { put(x, a, 5, 0); x.forget(key); return put(x, a, 6, 4) },
			true},
		{"after that, in the last generation",
			func(x *texts) bool { put(x, a, 5, 0); aged(x); x.forget(key); return put(x, a, 6, 4) }, true},
		{"after another key was forgotten",
			func(x *texts) bool { put(x, a, 5, 0); x.forget(other); return put(x, a, 6, 4) }, false},
		{"beside as many others as may be", func(x *texts) bool {
			put(x, a, 5, 0)
			for i := range mostAlike - 1 {
				put(x, text{2, uint64(i)}, 5, 0)
			}
			return put(x, a, 6, 4)
		}, false},
		{"beside one more", func(x *texts) bool {
			put(x, a, 5, 0)
			for i := range mostAlike {
				put(x, text{2, uint64(i)}, 5, 0)
			}
			return put(x, a, 6, 4)
		}, true},
		{"beside another block", func(x *texts) bool { put(x, a, 5, 0); return put(x, b, 6, 4) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var x texts
			x.init()
			if got := test.do(&x); got != test.want {
				t.Errorf("to be told: got %v, want %v", got, test.want)
			}
		})
	}
}

// TestTextsOfAKey: what stands for a key is known of both generations, each block once, and a block's way ends where
// nothing more is known.
func TestTextsOfAKey(t *testing.T) {
	var x texts
	x.init()
	const key, other kvindex.Key = 7, 8
	first, second, third := text{1, 10}, text{1, 20}, text{1, 30}
	x.put(first, 0, key, 1, 0)
	x.put(second, 10, key, 1, 0)
	x.old = x.young
	x.young.init()
	x.put(second, 10, key, 2, 0)
	x.put(third, 20, key, 2, 0)
	x.put(text{1, 50}, 40, other, 2, 0)
	if got, want := x.of(key), []text{second, third, first}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, test := range []struct {
		name string
		of   text
		want []uint64
	}{
		{"the first", first, []uint64{10}}, {"the third", third, []uint64{10, 20, 30}},
		{"one behind what is not known", text{1, 50}, []uint64{50}}, {"one that is not known", text{1, 60}, nil},
		{"of another chain", text{2, 30}, nil},
	} {
		if got := x.path(test.of); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
	x.forget(key)
	if got := x.of(key); len(got) != 0 {
		t.Errorf("got %v of a key that was forgotten, want nothing", got)
	}
	if got, want := x.path(text{1, 50}), []uint64{50}; !slices.Equal(got, want) {
		t.Errorf("got %v of another key's block, want %v", got, want)
	}
}

// TestForgottenWithItsLastKey: a block of text that stands for several keys is known until none of these is, whichever
// generation they are of, with the way to what is behind it.
func TestForgottenWithItsLastKey(t *testing.T) {
	first, second := text{1, 10}, text{1, 20}
	const key, other, behind kvindex.Key = 7, 8, 9
	put := func(x *texts, key kvindex.Key) { x.put(first, 0, key, 1, 0) }
	aged := func(x *texts) { x.old = x.young; x.young.init() }
	for _, test := range []struct {
		name string
		do   func(x *texts)
		want []uint64 // the way to the second block
	}{
		{"one of two keys is forgotten", func(x *texts) { put(x, key); put(x, other); x.forget(key) },
			[]uint64{10, 20}},
		{"both are", func(x *texts) { put(x, key); put(x, other); x.forget(key); x.forget(other) }, []uint64{20}},
		{"its only one, of which was told twice", func(x *texts) { put(x, key); put(x, key); x.forget(key) },
			[]uint64{20}},
		{"that of the last generation", func(x *texts) { put(x, key); aged(x); put(x, other); x.forget(key) },
			[]uint64{10, 20}},
		{"all of both generations",
			func(x *texts) {
				put(x, key)
				aged(x)
				put(x, key)
				put(x, other)
				x.forget(key)
				x.forget(other)
			},
			[]uint64{20}},
		{"one that stood for a key before as many others as may be", func(x *texts) {
			put(x, key)
			for i := range mostAlike {
				x.put(text{2, uint64(i)}, 0, key, 1, 0)
			}
			put(x, other)
			x.forget(key)
		}, []uint64{10, 20}},
		{"and then the other", func(x *texts) {
			put(x, key)
			for i := range mostAlike {
				x.put(text{2, uint64(i)}, 0, key, 1, 0)
			}
			put(x, other)
			x.forget(other)
		}, []uint64{20}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var x texts
			x.init()
			test.do(&x)
			x.put(second, 10, behind, 1, 0)
			if got := x.path(second); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestTextsAreBounded: where many keys stand for the same few blocks, as the prompts behind them differ, the oldest are
// forgotten, too.
func TestTextsAreBounded(t *testing.T) {
	var x texts
	x.init()
	const keys = 2*mostKeys + 9
	for i := range keys {
		x.put(text{1, 10}, 0, kvindex.Key(i+1), int64(i), 0)
	}
	if young, old := len(x.young.keys), len(x.old.keys); young > mostKeys || old > mostKeys {
		t.Errorf("got %d and %d keys, want at most %d in each generation", young, old, mostKeys)
	}
	if got := x.of(keys); len(got) != 1 {
		t.Errorf("got %v of the latest key, want its block", got)
	}
	if got := x.of(1); len(got) != 0 {
		t.Errorf("got %v of the oldest key, want nothing", got)
	}
}
