package push

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

func TestGather(t *testing.T) {
	wake := make(chan struct{}, 1)
	p := &Pusher{Interval: 10 * time.Millisecond, wake: wake}
	wake <- struct{}{}
	p.gather(context.Background())
	if len(wake) != 0 {
		t.Error("another change is waiting, want it to leave with the first")
	}
	p.gather(context.Background()) // returns although nothing comes
}

// TestRhythm: when an Envoy is told, in milliseconds after the first push. What has changed it hears at once, what is
// no change but newer within a heartbeat of its coming, and it hears no more often than there is something new.
func TestRhythm(t *testing.T) {
	const end = 500
	every := func(first, period int) (at []int) {
		for ; first < end; first += period {
			at = append(at, first)
		}
		return at
	}
	for _, test := range []struct {
		name             string
		interval, took   int   // of a push
		samples, changes []int // when they come
		want             []int
	}{
		{"nothing is sampled", 10, 2, nil, nil, []int{0, 150, 300, 450}},
		{"nothing is sampled, slow pushes", 10, 70, nil, nil, []int{0, 150, 300, 450}},
		{"idle servers", 10, 2, every(5, 100), nil, []int{0, 50, 135, 235, 335, 435}},
		{"idle servers of two moments", 10, 2, append(every(5, 100), every(30, 100)...), nil,
			[]int{0, 50, 135, 235, 335, 435}},
		{"idle servers of many moments", 10, 2, every(5, 6), nil, every(0, 50)},
		{"servers at work that tell nothing new", 10, 2, every(5, 50), nil, every(0, 50)},
		{"slow pushes", 10, 30, every(5, 50), nil, every(0, 50)},
		{"pushes slower than a heartbeat", 10, 72, every(5, 50), nil, []int{0, 72, 144, 216, 288, 360, 435}},
		{"a long interval", 200, 2, every(5, 50), nil, []int{0, 200, 400}},
		{"servers at work", 10, 2, nil, every(5, 50), append([]int{0, 13}, every(58, 50)...)},
		{"a change while others are waited for", 10, 2, []int{105}, []int{110}, []int{0, 113, 263, 413}},
		{"a change soon after a push", 10, 2, []int{105}, []int{136}, []int{0, 135, 148, 298, 448}},
		{"a change amid silence", 10, 2, nil, []int{120}, []int{0, 123, 273, 423}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := slog.New(slog.DiscardHandler)
				pl := pool.New(log, engine.Known, nil)
				pl.Learned(t.Context()) // of no sources, so that there is something to push
				p := &Pusher{Interval: ms(test.interval), Pool: pl, Log: log, Metrics: metrics.New(pl),
					wake: pl.Watch(), sampled: pl.WatchSamples()}
				ctx, cancel := context.WithTimeout(t.Context(), ms(end)-1)
				defer cancel()
				began := time.Now()
				for _, at := range test.samples {
					time.AfterFunc(ms(at), func() { pl.Sampled(time.Now()) })
				}
				for _, at := range test.changes {
					time.AfterFunc(ms(at), pl.Changed)
				}
				var pushes []int
				p.run(ctx, func(_ context.Context, now time.Time) outcome {
					pushes = append(pushes, int(now.Sub(began)/time.Millisecond))
					time.Sleep(ms(test.took))
					return outcome{result: "accepted"}
				})
				if !slices.Equal(pushes, test.want) {
					t.Errorf("pushed at %v ms, want %v", pushes, test.want)
				}
			})
		})
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
