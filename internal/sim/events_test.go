package sim

import (
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/kvpub"
)

// follower knows what a cache holds by its events alone: the text of each block with all that comes before it.
type follower map[uint64]string

// take takes in what is pending.
func (f follower) take(t *testing.T, e *kvEvents) {
	t.Helper()
	for _, event := range e.pending {
		switch event.Kind {
		case "BlockStored":
			f.store(t, &event)
		case "BlockRemoved":
			for _, hash := range event.Hashes {
				if _, ok := f[hash]; !ok {
					t.Fatalf("block %x was removed, and never stored", hash)
				}
				delete(f, hash)
			}
		case "AllBlocksCleared":
			clear(f)
		}
	}
	e.pending = nil
}

func (f follower) store(t *testing.T, event *kvpub.Event) {
	t.Helper()
	if len(event.Tokens) != len(event.Hashes)*event.BlockTokens {
		t.Fatalf("%d blocks have %d tokens, want %d in each", len(event.Hashes), len(event.Tokens), event.BlockTokens)
	}
	text := ""
	if event.Parent != nil {
		var known bool
		if text, known = f[*event.Parent]; !known {
			t.Fatalf("nothing is known of the parent %x", *event.Parent)
		}
	} else if len(event.Extra) > 0 {
		text = event.Extra[0][0] + ":"
	}
	for i, hash := range event.Hashes {
		for _, token := range event.Tokens[i*event.BlockTokens : (i+1)*event.BlockTokens] {
			text += string([]byte{byte(token), byte(token >> 8), byte(token >> 16), byte(token >> 24)})
		}
		if _, ok := f[hash]; ok {
			t.Fatalf("block %x was stored twice", hash)
		}
		f[hash] = text
	}
}

// TestEventsTellTheCache: whoever follows the events of random requests knows what the cache holds, block by block, and
// each block comes before those behind it.
func TestEventsTellTheCache(t *testing.T) {
	const blockTokens = 2
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		c, f := newKVCache(40, blockTokens, 0), follower{}
		c.events = &kvEvents{}
		want := map[uint64]string{}
		var holds []*hold
		for range 500 {
			switch n := random.IntN(200); {
			case n == 0 && len(holds) == 0:
				c.reset()
			case n < 100 && len(holds) > 0:
				i := random.IntN(len(holds))
				c.grow(holds[i], random.IntN(holds[i].told.tokens.tokens()+1))
				c.release(holds[i])
				holds = slices.Delete(holds, i, i+1)
			default:
				text := strings.Repeat("abcdefgh"[:1+random.IntN(8)], 1+random.IntN(30))
				salt := []string{"", "tenant"}[random.IntN(2)]
				all := prompt(nil).add(text + strings.Repeat("out ", random.IntN(20)))
				h := &hold{hashes: all.blockHashes(blockTokens, salt), told: &told{tokens: all, salt: salt}}
				begin := ""
				if salt != "" {
					begin = salt + ":"
				}
				for i, hash := range h.hashes {
					want[hash] = begin + string(all[:(i+1)*blockTokens*tokenBytes])
				}
				tokens := prompt(nil).add(text).tokens()
				if _, ok := c.admit(h, tokens, all.tokens()-tokens); ok {
					holds = append(holds, h)
				}
			}
			if random.IntN(3) > 0 {
				continue // a batch has the events of several requests
			}
			f.take(t, c.events)
			if got, held := slices.Sorted(maps.Keys(f)), slices.Sorted(maps.Keys(c.cached)); !slices.Equal(got, held) {
				t.Fatalf("seed %d: %d blocks are known, want the %d of the cache", seed, len(got), len(held))
			}
		}
		f.take(t, c.events)
		for hash, text := range f {
			if text != want[hash] {
				t.Errorf("seed %d: block %x is %q, want %q", seed, hash, text, want[hash])
			}
		}
		c.forgetAll()
		if f.take(t, c.events); len(c.cached) > 0 || len(f) > 0 {
			t.Errorf("seed %d: %d blocks are left and %d are known of, want none", seed, len(c.cached), len(f))
		}
		checkCache(t, c, holds)
	}
}

// TestCloseEndsEvents: a server that was closed takes no subscribers.
func TestCloseEndsEvents(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.PublishEvents(EventOptions{Address: "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	address := s.EventAddresses()[0].Events
	s.Close()
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Errorf("%s takes a connection of a server that was closed", address)
	}
}

// TestRestartForgetsEvents: an engine that was started anew says nothing of what the one before had, and has no fault.
func TestRestartForgetsEvents(t *testing.T) {
	s := newQuickServer(t, Config{})
	if err := s.PublishEvents(EventOptions{Address: "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	asks(t, s, "", strings.Repeat("abcd", 10))
	for _, test := range []struct{ fault, want string }{
		{`{"fault":"none"}`, `{"published":2,"subscribers":0}`}, // with the prompt, and with the answer
		{`{"fault":"torn","count":5}`, `{"published":2,"subscribers":0}`},
		{`{"fault":"restart"}`, `{"published":0,"subscribers":0}`},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/sim/events",
			strings.NewReader(test.fault)))
		shown := httptest.NewRecorder()
		s.ServeHTTP(shown, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/sim/events", nil))
		if w.Code != http.StatusNoContent || shown.Body.String() != test.want {
			t.Errorf("%s: got %d and %s, want %s", test.fault, w.Code, shown.Body, test.want)
		}
	}
	if e := s.events()[0]; e.left != 0 {
		t.Errorf("behind a restart %d batches are still %s", e.left, e.fault)
	}
}

// TestEventFaultMistakes: what is wrong in the order of a fault is said.
func TestEventFaultMistakes(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, publishes := range []bool{false, true} {
		if publishes {
			if err := s.PublishEvents(EventOptions{Address: "127.0.0.1:0"}); err != nil {
				t.Fatal(err)
			}
		}
		for body, want := range map[string]string{
			`{"fault":"clear"}`:             "this server publishes no events",
			`{"fault":"late"}`:              `fault \"late\": want one of none, lose, skip, unknown, torn, clear, gone, restart`,
			`{"fault":"torn","count":-1}`:   "count -1: want 1 or more",
			`{"fault":"torn","number":-1}`:  "unknown field",
			`{"fault":"unknown","count":2}`: "this server publishes no events",
		} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/sim/events",
				strings.NewReader(body)))
			if publishes && strings.HasPrefix(want, "this server") {
				if w.Code != http.StatusNoContent {
					t.Errorf("%s: got %d %s, want 204", body, w.Code, w.Body)
				}
			} else if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: got %d %s, want 400 and %q", body, w.Code, w.Body, want)
			}
		}
	}
}
