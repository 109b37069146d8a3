package kvevents

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"math"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/zmtp"
)

// sentBy is a connection over which all has been sent that will be.
type sentBy struct {
	net.Conn
	in *bytes.Reader
}

func (s *sentBy) Read(b []byte) (int, error)       { return s.in.Read(b) }
func (s *sentBy) Write(b []byte) (int, error)      { return len(b), nil }
func (s *sentBy) Close() error                     { return nil }
func (s *sentBy) SetDeadline(time.Time) error      { return nil }
func (s *sentBy) SetReadDeadline(time.Time) error  { return nil }
func (s *sentBy) SetWriteDeadline(time.Time) error { return nil }

// greeted is how a router begins, by RFC 23.
func greeted() []byte {
	b := make([]byte, 64)
	b[0], b[9], b[10] = 0xff, 0x7f, 3
	copy(b[12:], "NULL")
	ready := append([]byte("\x05READY\x0bSocket-Type\x00\x00\x00\x06"), "ROUTER"...)
	return append(append(b, 4, byte(len(ready))), ready...)
}

// framed is a message of these frames, by RFC 23.
func framed(frames ...[]byte) (b []byte) {
	for i, frame := range frames {
		flags := byte(2)
		if i < len(frames)-1 {
			flags |= 1
		}
		b = append(binary.BigEndian.AppendUint64(append(b, flags), uint64(len(frame))), frame...)
	}
	return b
}

// resent is a batch as replays have it.
func resent(topic string, number uint64, payload []byte) []byte {
	return framed(nil, []byte(topic), binary.BigEndian.AppendUint64(nil, number), payload)
}

// newReplayed returns a subscription whose replays have what is sent, each time anew, and how often it was asked for.
func newReplayed(t testing.TB, sent []byte) (*subscription, *int) {
	t.Helper()
	s := &Subscriber{Config: Config{Concurrency: 1, SocketPort: 1}, Index: newIndex(t),
		Log: slog.New(slog.DiscardHandler)}
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	s.addresses.Store(&map[string]string{"10.0.0.2:1": "b"})
	asked := 0
	s.shared.limits = zmtp.Limits{Message: replayMessage, Frames: 8}
	s.shared.dial = func(_ context.Context, _, socket string, limits zmtp.Limits) (*zmtp.Conn, error) {
		asked++
		in := append(greeted(), sent...)
		return zmtp.Open(&sentBy{in: bytes.NewReader(in)}, socket, limits)
	}
	sub := s.newSubscription("a", 0)
	sub.stream.base = "m"
	sub.source.Store(&source{replay: "replay"})
	return sub, &asked
}

// replayMessage bounds the messages of these replays.
const replayMessage = 8 << 10

// TestReplayed: what is taken in of a replay, and how often it is asked for.
func TestReplayed(t *testing.T) {
	batch := func(hash uint64) []byte {
		return kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{{Kind: "BlockStored", Hashes: []uint64{hash},
			Tokens: []uint32{uint32(hash)}, BlockTokens: 1}})
	}
	end := resent("kv@a@m", ^uint64(0), nil)
	for _, tc := range []struct {
		name    string
		sent    []byte
		entries int64
		asked   int
	}{
		{"nothing", nil, 0, 1},
		{"no batch", end, 0, 1},
		{"two", slices.Concat(resent("", 0, batch(1)), resent("", 1, batch(2)), end), 2, 1},
		{"without topics", slices.Concat(framed(nil, make([]byte, 8), batch(1)), end), 1, 1},
		{"cut short", resent("", 0, batch(1)), 1, 2},
		{"a hole", slices.Concat(resent("", 0, batch(1)), resent("", 2, batch(2)), end), 1, 2},
		{"backwards", slices.Concat(resent("", 5, batch(1)), resent("", 4, batch(2)), end), 1, 1},
		{"another endpoint's", slices.Concat(resent("kv@10.0.0.2:1@m", 0, batch(1)), end), 0, 1},
		{"a long topic", slices.Concat(resent(string(make([]byte, maxTopic+1)), 0, batch(1)), end), 0, 1},
		{"too many frames", framed(nil, nil, nil, make([]byte, 8), batch(1)), 0, 1},
		{"something before the topic", framed([]byte("x"), nil, make([]byte, 8), batch(1)), 0, 1},
		{"a short number", framed(nil, make([]byte, 7), batch(1)), 0, 1},
		{"too large", framed(nil, make([]byte, 8), make([]byte, replayMessage)), 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sub, asked := newReplayed(t, tc.sent)
			_, _ = sub.replayFrom(t.Context(), 0, true)
			if got := sub.stream.index.Stats().Entries; got != tc.entries || *asked != tc.asked {
				t.Errorf("got %d blocks and asked %d times, want %d and %d", got, *asked, tc.entries, tc.asked)
			}
		})
	}
}

// TestGapsAreCountedOnce: a gap counts as mended or as forgotten once that is known, and as neither before.
func TestGapsAreCountedOnce(t *testing.T) {
	batch := kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, nil)
	whole := slices.Concat(resent("", 1, batch), resent("", 2, batch))
	end := resent("kv@a@m", ^uint64(0), nil)
	for _, tc := range []struct {
		name              string
		sent              []byte
		replays, fails    bool
		mended, forgotten uint64
	}{
		{"mended", slices.Concat(whole, end), true, false, 1, 0},
		{"partly there", slices.Concat(resent("", 2, batch), end), true, false, 0, 1},
		{"not there", end, true, false, 0, 1},
		{"cut short", whole, true, false, 0, 1},
		{"another endpoint's", slices.Concat(whole, resent("kv@10.0.0.2:1@m", 3, batch)), true, true, 0, 1},
		{"no replay", nil, false, false, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sub, asked := newReplayed(t, tc.sent)
			if !tc.replays {
				sub.source.Store(&source{})
			}
			again := sub.dial
			sub.dial = func(ctx context.Context, address, socket string, limits zmtp.Limits) (*zmtp.Conn, error) {
				if now := sub.now(); *asked == 0 && now.Mended+now.Forgotten != 0 {
					t.Errorf("before the replay: got %d mended and %d forgotten, want none", now.Mended, now.Forgotten)
				}
				return again(ctx, address, socket, limits)
			}
			for _, number := range []uint64{0, 3} {
				err := sub.message(t.Context(), [][]byte{[]byte("kv@a@m"),
					binary.BigEndian.AppendUint64(nil, number), batch})
				if (err != nil) != (tc.fails && number == 3) {
					t.Fatalf("batch %d: got %v, want an error only of another endpoint's", number, err)
				}
			}
			now := sub.now()
			if now.Mended != tc.mended || now.Forgotten != tc.forgotten {
				t.Errorf("got %d mended and %d forgotten, want %d and %d", now.Mended, now.Forgotten, tc.mended,
					tc.forgotten)
			}
		})
	}
}

// TestMute: an engine that does not answer when it is asked for what may have got lost is not asked again and again, as
// nothing that it publishes is heard meanwhile.
func TestMute(t *testing.T) {
	silent, err := kvpub.New(kvpub.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(silent.Close)
	conn, err := dial(t.Context(), silent.Address(), "SUB", zmtp.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	end := resent("kv@a@m", ^uint64(0), nil)
	for _, tc := range []struct {
		name  string
		sent  []byte
		asked int
	}{{"answers", end, 3}, {"breaks off", nil, 1}} {
		t.Run(tc.name, func(t *testing.T) {
			sub, asked := newReplayed(t, tc.sent)
			for range 3 {
				if err := sub.attend(t.Context(), conn, time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
			if *asked != tc.asked {
				t.Errorf("asked %d times, want %d", *asked, tc.asked)
			}
		})
	}
}

// TestEndlessTime: a batch of a time without end says nothing of how late it is.
func TestEndlessTime(t *testing.T) {
	sub, _ := newReplayed(t, nil)
	for _, at := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		if err := sub.take(t.Context(), 0, kvpub.AppendBatch(nil, kvpub.Maps, at, 0, nil), true); err != nil {
			t.Fatal(err)
		}
		if lag := sub.now().Lag; lag != 0 {
			t.Errorf("a batch of %v: got a lag of %v, want none", at, lag)
		}
	}
}

// FuzzReplay: whatever is sent in place of old batches, what is kept of it has its bounds, and it is not asked for
// without end.
func FuzzReplay(f *testing.F) {
	parent := uint64(9)
	stored := kvpub.Event{Kind: "BlockStored", Hashes: []uint64{1, 2}, Tokens: []uint32{1, 2}, BlockTokens: 1}
	orphan := kvpub.Event{Kind: "BlockStored", Hashes: []uint64{3}, Parent: &parent, Tokens: []uint32{3},
		BlockTokens: 1, Lora: "l", Extra: [][]string{{"s"}}}
	moved := kvpub.Event{Kind: "BlockStored", Hashes: []uint64{1}, Medium: "CPU"}
	removed := kvpub.Event{Kind: "BlockRemoved", Hashes: []uint64{1, 3}}
	end := resent("", ^uint64(0), nil)
	for _, form := range []kvpub.Form{kvpub.Maps, kvpub.SGLang} {
		first := kvpub.AppendBatch(nil, form, 1, 0, []kvpub.Event{stored, orphan, moved})
		second := kvpub.AppendBatch(nil, form, 2, 1, []kvpub.Event{removed, {Kind: "AllBlocksCleared"}})
		f.Add(slices.Concat(resent("kv@a@m", 0, first), resent("kv@a@m", 1, second), end), false, uint64(0))
		f.Add(slices.Concat(resent("", 3, second), resent("", 5, first)), true, uint64(3))
		f.Add(slices.Concat(resent("kv@10.0.0.2:1@m", 0, first), end), true, ^uint64(0))
		f.Add(append(framed(nil, binary.BigEndian.AppendUint64(nil, 1), first), end...), true, uint64(0))
	}
	f.Add([]byte("\x00\x00\x05\x02ab"), false, uint64(0))
	f.Fuzz(func(t *testing.T, sent []byte, known bool, last uint64) {
		sub, asked := newReplayed(t, sent)
		const rounds, calls = 20, 4
		if sub.known, sub.last = known, last; !known {
			sub.stream.base = ""
		}
		for _, call := range []func() error{
			func() error { return sub.resume(t.Context()) },
			func() error { _, err := sub.mend(t.Context(), sub.last+10); return err },
			func() error { return sub.named(t.Context(), "kv@a@other") },
			func() error { return sub.relearn(t.Context()) },
		} {
			if err := call(); err != nil && sub.dirty {
				t.Fatalf("the index in memory cannot be told: %v", err)
			}
		}
		o := &sub.stream.orphans
		entries := sub.stream.index.Stats().Entries
		if *asked > calls*(rounds+1) || entries > int64(len(sent)) || len(sub.stream.base) > maxTopic ||
			len(o.queue) > maxOrphans || o.size > maxOrphanSize || o.size < 0 || o.waiting > len(o.queue) {
			t.Fatalf("%d bytes: asked %d times, %d blocks, a base of %d bytes, %d events of %d wait", len(sent), *asked,
				entries, len(sub.stream.base), o.waiting, o.size)
		}
	})
}

// FuzzReplayed: whatever frames a replay has, they are taken for a batch or refused, and what a subscription makes of
// the batch is within the bounds of any other.
func FuzzReplayed(f *testing.F) {
	number := binary.BigEndian.AppendUint64(nil, 7)
	batch := kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{{Kind: "BlockStored", Hashes: []uint64{1},
		Tokens: []uint32{1, 2, 3, 4}, BlockTokens: 4}})
	f.Add([]byte{}, []byte("kv@a@m"), number, batch, 4)
	f.Add([]byte{}, number, batch, []byte{}, 3)
	f.Add([]byte{}, number, []byte{}, []byte{}, 2)
	f.Add(number, number, number[:7], batch, 4)
	f.Fuzz(func(t *testing.T, a, b, c, d []byte, n int) {
		frames := [][]byte{a, b, c, d, a}[:max(0, min(n, 5))]
		topic, got, payload, err := replayed(frames)
		if err != nil {
			if topic != "" || got != 0 || payload != nil {
				t.Fatalf("got %q, %d and %d bytes beside %v", topic, got, len(payload), err)
			}
			return
		}
		if !bytes.Equal(payload, frames[len(frames)-1]) || topic != "" && topic != string(b) {
			t.Fatalf("got %q and %d bytes of %d frames", topic, len(payload), len(frames))
		}
		s := &subscription{shared: &shared{permits: make(chan struct{}, 1),
			allowed: func(_, said string) bool { return said == "a" }},
			stream: *newStream(newIndex(t), "a", 0), log: slog.New(slog.DiscardHandler)}
		if topic != "" && s.topic(topic) != nil {
			return
		}
		if err := s.take(context.Background(), got, payload, false); err != nil || s.last != got || !s.known {
			t.Fatalf("got %v, %d and %v, want batch %d taken", err, s.last, s.known, got)
		}
	})
}
