package state

import "testing"

// TestIntervalBuckets: a bucket's last second is at most a quarter above any of its seconds, and none is below.
func TestIntervalBuckets(t *testing.T) {
	last := -1
	for seconds := range uint32(100_000) {
		bucket := intervalBucket(seconds)
		if bucket != last && bucket != last+1 {
			t.Fatalf("%d seconds are in bucket %d, those before in %d", seconds, bucket, last)
		}
		last = bucket
		if end := intervalEnd(bucket); end < seconds || end > seconds+seconds/4 {
			t.Fatalf("the bucket of %d seconds ends at %d, want up to a quarter more", seconds, end)
		}
	}
	if got := intervalBucket(1<<32 - 1); got != intervalBuckets-1 {
		t.Errorf("the longest interval is in bucket %d, want %d", got, intervalBuckets-1)
	}
}

// TestIntervalWindow: within the window comes nearly all that comes again, by its size, and of late.
func TestIntervalWindow(t *testing.T) {
	type noted struct {
		seconds uint32
		blocks  int
	}
	const full = intervalBlocks
	tests := []struct {
		name  string
		noted []noted
		want  uint32
	}{
		{"nothing comes again", nil, everything},
		{"as much as counts whole", []noted{{60, full - 2}, {3600, 1}, {3600, full / 64}}, 63},
		{"less of it counts", []noted{{60, full}, {3600, full / 64}}, 4095},
		{"no prompt counts more", []noted{{60, 9 * full}, {3600, full / 64}}, 4095},
		{"at once", []noted{{0, 100}}, leastWindow},
		{"after a minute", []noted{{60, 1}}, 63},
		{"one of fifty may come later", []noted{{60, 49}, {3600, 1}}, 63},
		{"two of fifty may not", []noted{{60, 48}, {3600, 2}}, 4095},
		{"blocks count, not prompts", []noted{{3600, 1}, {3600, 1}, {3600, 1}, {60, 200}}, 63},
		{"old ones count half", []noted{{3600, intervalBlocks / 16}, {60, intervalBlocks}, {60, intervalBlocks},
			{60, intervalBlocks}, {60, intervalBlocks}}, 63},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v intervals
			for _, n := range tt.noted {
				v.note(n.seconds, n.blocks)
				v.window() // is not what comes later
			}
			if got := v.window(); got != tt.want {
				t.Errorf("the window has %d seconds, want %d", got, tt.want)
			}
		})
	}
}

// TestInUse: of an endpoint's cache that part is in use which prompts take that came within the time in which nearly
// all come again, and no more than it has room for.
func TestInUse(t *testing.T) {
	s, now, lease := prompts(0), someTime, uint32(0)
	wait := func(seconds int64) {
		now += seconds * 1000 * milli
		s.Expire(now)
	}
	ask := func(blocks []uint64, had int) {
		lease++
		answers(s, lease, blocks, had)
	}
	want := func(what string, used float64) {
		t.Helper()
		if got := s.Prefix.InUse(0, 0); got != used {
			t.Errorf("%s: %v of the cache is in use, want %v", what, got, used)
		}
	}
	wait(0)
	want("nothing told", 0)
	s.Prefix.SetCapacity(0, 64)
	ask(fresh(1, 16), 0)
	want("a prompt", 0.25)
	for _, with := range [][2]float64{{8, 0.375}, {1000, 1}} {
		if got := s.Prefix.InUse(0, with[0]); got != with[1] {
			t.Errorf("with %v further blocks %v of the cache is in use, want %v", with[0], got, with[1])
		}
	}
	wait(600)
	want("as long as nothing came again", 0.25)
	ask(fresh(2, 16), 0)
	ask(fresh(2, 16), 16)
	want("what comes again does at once", 0.25)
	wait(leastWindow)
	want("at the end of the window", 0.25)
	wait(1)
	want("behind it", 0)
	wait(49)
	ask(fresh(3, 16), 0)
	ask(fresh(2, 16), 16)
	want("it comes again after a minute", 0.5)
	wait(63)
	want("so they are in use as long", 0.5)
	wait(1)
	want("and not longer", 0)
	ask(fresh(4, 40), 0)
	ask(fresh(5, 40), 0)
	want("more than it has room for", 1)
	for _, index := range []int{1, 7} {
		if got := s.Prefix.InUse(index, 8); got != 0 {
			t.Errorf("%v of the cache of endpoint %d is in use, want 0", got, index)
		}
	}
}
