package pace

import (
	"sync"
	"testing"
	"time"
)

const period = 50 * time.Millisecond

func TestNext(t *testing.T) {
	for _, test := range []struct {
		name  string
		late  time.Duration // of now, after a moment
		wait  time.Duration
		off   int64 // the moment that now belongs to is so many behind that one
		every int64
	}{
		{"at a moment", 0, period, 0, 1},
		{"soon after it", 20 * time.Millisecond, period, 0, 1},
		{"as early as it may be", -5 * time.Millisecond, period, 0, 1},
		{"too early for it", -6 * time.Millisecond, period, -1, 1},
		{"nearer to the one after", 30 * time.Millisecond, period, 0, 1},
		{"late, by a slow scrape", 44 * time.Millisecond, period, 0, 1},
		{"as early as the one after may be", 45 * time.Millisecond, period, 1, 1},
		{"two periods", 3 * time.Millisecond, 2 * period, 0, 2},
		{"two periods, nearer to the one after", 40 * time.Millisecond, 2 * period, 0, 2},
		{"two periods, late for the one after", 48 * time.Millisecond, 2 * period, 1, 2},
		{"not quite three", 3 * time.Millisecond, 3*period - 1, 0, 2},
		{"three", 3 * time.Millisecond, 3 * period, 0, 3},
		{"less than one", 3 * time.Millisecond, period / 5, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			beat := NewBeat(period)
			for range 2 * seatsTogether {
				seat := beat.Sit()
				for k := range int64(100) {
					now := beat.start.Add(time.Duration(k)*period + seat.phase + test.late)
					next := ((k+test.off)/test.every + 1) * test.every // who waits for as many has the same moments
					if test.off < 0 {
						next = k // which is no fraction to be rounded down
					}
					if got, want := seat.Next(now, test.wait), seat.moment(next); !got.Equal(want) {
						t.Fatalf("seat %d, after moment %d: got %v later, want %v", seat.number, k, got.Sub(now),
							want.Sub(now))
					}
				}
			}
		})
	}
}

// TestNextIsNear: whenever somebody begins, the next moment is no further than the wait and what moments are spread by.
func TestNextIsNear(t *testing.T) {
	for _, wait := range []time.Duration{period, 2 * period} {
		beat := NewBeat(period)
		for range 4 * seatsTogether {
			seat := beat.Sit()
			for i := range 500 {
				now := beat.start.Add(time.Duration(i) * 7 * time.Millisecond)
				if got := seat.Next(now, wait).Sub(now); got <= 0 || got > wait+period*15/100 {
					t.Fatalf("seat %d, %v after the start: got %v, want at most %v and 15 %% of %v", seat.number,
						now.Sub(beat.start), got, wait, period)
				}
			}
		}
	}
}

// TestOnceInAPeriod: neither a timer that fires early or late nor something that takes long has two things be done in
// one period.
func TestOnceInAPeriod(t *testing.T) {
	for _, test := range []struct {
		name        string
		early, late time.Duration // of the timer
		took        time.Duration
	}{
		{"exactly", 0, 0, 0},
		{"early", period / 20, 0, 0},
		{"late", 0, period / 3, 0},
		{"slow", 0, 0, period * 9 / 10},
		{"slower than a period", 0, period / 50, period * 6 / 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			seat := NewBeat(period).Sit()
			now, last := seat.moment(3), time.Time{}
			for range 1000 {
				next := seat.Next(now, period)
				if !next.After(last) {
					t.Fatalf("got the moment %v again", next.Sub(seat.beat.start))
				}
				last = next
				now = now.Add(test.took)
				if due := next.Add(test.late - test.early); due.After(now) {
					now = due
				}
			}
		})
	}
}

// TestMoments: they are a period apart, spread by 5 % both ways, and not all alike.
func TestMoments(t *testing.T) {
	seat, last := NewBeat(period).Sit(), time.Duration(0)
	distinct := map[time.Duration]bool{}
	for k := range int64(1000) {
		off := seat.moment(k).Sub(seat.beat.start) - time.Duration(k)*period
		if off < -period/20 || off > period/20 {
			t.Fatalf("moment %d: got %v off its place, want at most %v", k, off, period/20)
		}
		distinct[off-last], last = true, off
	}
	if len(distinct) < 900 {
		t.Errorf("got %d different distances of 1000", len(distinct))
	}
	if exact := NewBeat(9).Sit(); exact.moment(1).Sub(exact.moment(0)) != 9 {
		t.Errorf("a period of 9 ns: got moments %v apart", exact.moment(1).Sub(exact.moment(0)))
	}
}

// TestSeats: 32 share their moments, the next ones lie halfway, then at the quarters; one that is left is taken first.
func TestSeats(t *testing.T) {
	beat := NewBeat(period)
	var seats []*Seat
	for range 4 * seatsTogether {
		seats = append(seats, beat.Sit())
	}
	for i, seat := range seats {
		want := []time.Duration{0, period / 2, period / 4, period * 3 / 4}[i/seatsTogether]
		if seat.phase != want {
			t.Errorf("seat %d: got moments %v later than the first one's, want %v", i, seat.phase, want)
		}
	}
	seats[40].Leave()
	seats[3].Leave()
	for _, want := range []int{3, 40, len(seats)} {
		if got := beat.Sit().number; got != want {
			t.Errorf("seat: got %d, want %d", got, want)
		}
	}
}

func TestSeatsAtOnce(t *testing.T) {
	beat := NewBeat(period)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 100 {
				seat := beat.Sit()
				seat.Next(time.Now(), period)
				seat.Leave()
			}
		})
	}
	all.Wait()
	if got := beat.Sit().number; got != 0 {
		t.Errorf("the first seat after all have left: got %d, want 0", got)
	}
}
