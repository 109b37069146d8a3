package kvevents

import (
	"context"
	"encoding/binary"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/zmtp"
)

// TestQuietReplay: a replay of which nothing comes any more, as its end got lost, is not waited for as long as one may
// take: nobody hears the engine meanwhile.
func TestQuietReplay(t *testing.T) {
	const end = ^uint64(0)
	for _, tc := range []struct {
		name    string
		numbers []uint64
		apart   time.Duration
		entries int64
		took    time.Duration
	}{
		{"all at once", []uint64{0, 1, end}, 0, 2, 0},
		{"all, slowly", []uint64{0, 1, end}, replayQuiet - 1, 2, 3 * (replayQuiet - 1)},
		{"no end", []uint64{0, 1}, 0, 2, 2 * replayQuiet},
		{"nothing", nil, 0, 0, replayQuiet},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sub, _ := newReplayed(t, nil)
				sub.shared.dial = func(_ context.Context, _, socket string, limits zmtp.Limits) (*zmtp.Conn, error) {
					near, other := net.Pipe()
					own := newEager(near)
					go resend(other, tc.numbers, tc.apart)
					return zmtp.Open(own, socket, limits)
				}
				began := time.Now()
				_, _ = sub.replayFrom(t.Context(), 0, true)
				if got := sub.stream.index.Stats().Entries; got != tc.entries || time.Since(began) != tc.took {
					t.Errorf("got %d blocks after %v, want %d after %v", got, time.Since(began), tc.entries, tc.took)
				}
			})
		})
	}
}

// resend answers a question with batches of these numbers, so much apart, and with nothing else.
func resend(conn net.Conn, numbers []uint64, apart time.Duration) {
	router, err := zmtp.Open(conn, "ROUTER", zmtp.Limits{})
	if err != nil {
		return
	}
	defer router.Close()
	_, _ = router.Recv() // the question
	for _, number := range numbers {
		time.Sleep(apart)
		batch := kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{{Kind: "BlockStored",
			Hashes: []uint64{number + 1}, Tokens: []uint32{uint32(number)}, BlockTokens: 1}})
		_ = router.Send(nil, []byte("kv@a@m"), binary.BigEndian.AppendUint64(nil, number), batch)
	}
	_, _ = router.Recv() // until nobody asks any more
}
