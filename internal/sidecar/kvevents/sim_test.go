package kvevents

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sim"
)

// simulated is a simulated server that is followed.
type simulated struct {
	*fleet
	sim *sim.Server
}

const simBlock = 4

// newSimulated starts a server with room for so many blocks.
func newSimulated(t *testing.T, blocks int, replay string, form kvpub.Form) *simulated {
	t.Helper()
	return newConfigured(t, sim.Config{Blocks: blocks}, sim.EventOptions{Replay: replay, Form: form})
}

// newConfigured starts a server that publishes as o says.
func newConfigured(t *testing.T, c sim.Config, o sim.EventOptions) *simulated {
	t.Helper()
	c.Models, c.Adapters, c.BlockTokens = []string{"m"}, []string{"adapter"}, simBlock
	c.PrefillTokensPerSecond, c.TimePerOutputToken = 1e9, -1
	engine, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	o.Address, o.Endpoint = "127.0.0.1:0", address
	if err := engine.PublishEvents(o); err != nil {
		t.Fatal(err)
	}
	go func() { _ = engine.Serve(l) }()
	s := &simulated{newFleet(t, func(c *Config) { c.Concurrency = 1 }), engine}
	s.servers = []*server{{name: "a", address: address, form: o.Form}}
	s.run()
	ranks := float64(max(c.Ranks, 1))
	s.wait("a subscriber of each rank", func() bool { return s.get("/sim/events")["subscribers"] == ranks })
	return s
}

// call asks the server and reads its answer into one, if there is one to read.
func (s *simulated) call(method, path, body string, answer any) {
	s.t.Helper()
	s.ask("", method, path, body, answer)
}

// ask is call, of a rank.
func (s *simulated) ask(rank, method, path, body string, answer any) {
	s.t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("X-Data-Parallel-Rank", rank)
	s.sim.ServeHTTP(w, r)
	if w.Code/100 != 2 {
		s.t.Fatalf("%s %s: got %d %s", path, body, w.Code, w.Body)
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil {
		s.t.Fatal(err)
	}
}

func (s *simulated) get(path string) (numbers map[string]float64) {
	s.t.Helper()
	s.call(http.MethodGet, path, "", &numbers)
	return numbers
}

// send sends a prompt and returns how many of its tokens the server had.
func (s *simulated) send(model, salt, text string) (cached int) {
	s.t.Helper()
	return s.sendTo("", model, salt, text)
}

// sendTo sends a prompt to a rank, "" for any.
func (s *simulated) sendTo(rank, model, salt, text string) (cached int) {
	s.t.Helper()
	var answer struct {
		Usage struct {
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	s.ask(rank, http.MethodPost, "/v1/completions",
		fmt.Sprintf(`{"model":%q,"cache_salt":%q,"prompt":%q,"max_tokens":1}`, model, salt, text), &answer)
	return answer.Usage.Details.Cached
}

// has is how many tokens of a prompt the server has.
func (s *simulated) has(model, salt, text string) int {
	s.t.Helper()
	return s.where(model, salt, text)[0].Blocks * simBlock
}

// held is how much of a prompt's head a rank has, in blocks, and how much of that in the CPU's memory alone.
type held struct {
	Blocks    int
	Offloaded int `json:"offloadedBlocks"`
}

// where says for each rank what it has of a prompt.
func (s *simulated) where(model, salt, text string) []held {
	s.t.Helper()
	var found struct{ Ranks []held }
	s.call(http.MethodPost, "/sim/lookup", fmt.Sprintf(`{"model":%q,"cache_salt":%q,"prompt":%q,"max_tokens":1}`, model,
		salt, text), &found)
	return found.Ranks
}

// batches is how many messages have begun to be worked on.
func (s *simulated) batches() (n uint64) {
	s.subscriber.each(func(sub *subscription) { n += sub.stream.counts.batches.Load() })
	return n
}

// knows is how many tokens of a prompt the server has by the index.
func (s *simulated) knows(model, salt, text string) int {
	s.t.Helper()
	return s.hit(model, salt, text).Tokens
}

// hit is what the index says of a prompt.
func (s *simulated) hit(model, salt, text string) (none kvindex.Hit) {
	s.t.Helper()
	var made struct{ Tokens []uint32 }
	s.call(http.MethodPost, "/tokenize", fmt.Sprintf(`{"prompt":%q}`, text), &made)
	hits, err := s.subscriber.Index.Match(s.t.Context(), nil, model, &kvindex.Prompt{Tokens: made.Tokens, Salt: salt},
		[]string{"a"})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(hits) == 0 {
		return none
	}
	return hits[0]
}

// heard waits until all that was published is in the index.
func (s *simulated) heard() {
	s.t.Helper()
	s.wait("all to be heard", func() bool {
		return float64(s.batches()) == s.get("/sim/events")["published"]
	})
	// The last batch is counted when it begins, by who has the only permit.
	s.subscriber.shared.permits <- struct{}{}
	<-s.subscriber.shared.permits
}

// heardAll is heard, of a server whose ranks have a block once each, in whichever memory.
func (s *simulated) heardAll() {
	s.t.Helper()
	s.heard()
	state := s.get("/sim/state")
	if got, want := s.subscriber.Index.Stats().Entries, state["cachedBlocks"]+state["offloadedBlocks"]; float64(got) !=
		want {
		s.t.Fatalf("got %d blocks in the index, want the cache's %v", got, want)
	}
}

func (s *simulated) strike(fault string) {
	s.t.Helper()
	s.call(http.MethodPost, "/sim/events", `{"fault":"`+fault+`"}`, nil)
}

// TestSimulatedServer: what the index says of prompts before they are sent to a simulated server is what it finds in
// its cache, with evictions, adapters and salts.
func TestSimulatedServer(t *testing.T) {
	for _, form := range sim.EventForms {
		t.Run(string(form), func(t *testing.T) { agreesWithServer(t, form) })
	}
}

func agreesWithServer(t *testing.T, form kvpub.Form) {
	s := newSimulated(t, 120, "127.0.0.1:0", form)
	models, salts, groups := []string{"m", "m", "adapter"}, []string{"", "", "tenant"}, 6
	if form == kvpub.SGLang { // which knows of neither
		models, salts, groups = models[:1], salts[:1], 20
	}
	random := rand.New(rand.NewPCG(3, 5))
	hits := 0
	for i := range 200 {
		text := fmt.Sprint("group ", random.IntN(groups), strings.Repeat(" and so on", 5+random.IntN(20)))
		model, salt := models[random.IntN(len(models))], salts[random.IntN(len(salts))]
		s.heardAll()
		known, there := s.knows(model, salt, text), s.has(model, salt, text)
		cached := s.send(model, salt, text)
		// The last token is always computed anew, and with it its block.
		if known != there || cached != there && cached != there-simBlock {
			t.Fatalf("request %d: %d tokens are known, the server had %d and used %d", i, known, there, cached)
		}
		if cached > 0 {
			hits++
		}
	}
	if hits < 40 || hits > 160 {
		t.Errorf("got %d hits of 200 requests, want hits and misses", hits)
	}
	s.call(http.MethodPost, "/reset_prefix_cache", "", nil)
	s.wait("nothing to be left", func() bool { return s.subscriber.Index.Stats().Entries == 0 })
}

// TestSimulatedOffload: blocks that are evicted from the GPU and kept in the CPU's memory are known as that, until they
// go there, too.
func TestSimulatedOffload(t *testing.T) {
	s := newConfigured(t, sim.Config{Blocks: 60, OffloadBlocks: 60}, sim.EventOptions{Replay: "127.0.0.1:0"})
	random := rand.New(rand.NewPCG(3, 6))
	tiers := map[string]int{}
	for i := range 200 {
		text := fmt.Sprint("group ", random.IntN(9), strings.Repeat(" and so on", 5+random.IntN(20)))
		s.heardAll()
		hit, there := s.hit("m", "", text), s.has("m", "", text)
		cached := s.send("m", "", text)
		if hit.Tokens != there || cached != there && cached != there-simBlock {
			t.Fatalf("request %d: %+v is known, the server had %d and used %d", i, hit, there, cached)
		}
		switch {
		case there == 0:
			tiers["none"]++
		case hit.ByTier[kvindex.CPU] == hit.Blocks:
			tiers["CPU"]++
		case hit.ByTier[kvindex.GPU] == hit.Blocks:
			tiers["GPU"]++
		default:
			tiers["both"]++
		}
	}
	for _, kind := range []string{"none", "CPU", "GPU", "both"} {
		if tiers[kind] < 5 {
			t.Errorf("got %v, want some of each", tiers)
		}
	}
	s.call(http.MethodPost, "/reset_prefix_cache", "", nil)
	s.wait("nothing to be left", func() bool { return s.subscriber.Index.Stats().Entries == 0 })
}

// TestSimulatedFaults: of three prompts, the fault strikes when the second is sent.
func TestSimulatedFaults(t *testing.T) {
	const replay = "127.0.0.1:0"
	for _, tc := range []struct {
		name, fault, replay string
		// known says of the prompts whether the index knows them in the end, all or nothing.
		known  [3]bool
		counts string // of gaps that were forgotten and mended, malformed events and restarts
	}{
		{"none", "none", replay, [3]bool{true, true, true}, "0 0 0 0"},
		{"a lost batch that is there to be asked for", "lose", replay, [3]bool{true, true, true}, "0 1 0 0"},
		{"a lost batch without replay", "lose", "", [3]bool{false, false, true}, "1 0 0 0"},
		{"a skipped number", "skip", replay, [3]bool{false, false, true}, "1 0 0 0"},
		{"a skipped number without replay", "skip", "", [3]bool{false, false, true}, "1 0 0 0"},
		{"an unknown event", "unknown", replay, [3]bool{true, true, true}, "0 0 1 0"},
		{"a torn batch", "torn", replay, [3]bool{true, false, true}, "0 0 1 0"},
		{"a cleared cache", "clear", replay, [3]bool{false, true, true}, "0 0 0 0"},
		{"a restart", "restart", replay, [3]bool{false, true, true}, "0 0 0 1"},
		{"a publisher that is gone for a while", "gone", replay, [3]bool{true, true, true}, "0 0 0 1"},
	} {
		for _, form := range sim.EventForms {
			t.Run(fmt.Sprint(tc.name, ", ", form), func(t *testing.T) {
				t.Parallel()
				strikes(t, newSimulated(t, 1000, tc.replay, form), tc.fault, tc.known, tc.counts)
			})
		}
	}
}

// strikes sends three prompts, of which the fault strikes when the second is sent.
func strikes(t *testing.T, s *simulated, fault string, known [3]bool, want string) {
	var prompts [3]string
	for i := range prompts {
		prompts[i] = fmt.Sprint(i, strings.Repeat(" of three", 20))
	}
	whole := s.tokens(prompts[0])
	s.send("m", "", prompts[0])
	s.wait("the first prompt", func() bool { return s.knows("m", "", prompts[0]) == whole })
	if s.strike(fault); fault == "restart" {
		s.wait("nothing to be left", func() bool { return s.subscriber.Index.Stats().Entries == 0 })
		s.wait("a subscriber again", func() bool { return s.get("/sim/events")["subscribers"] == 1 })
	}
	s.send("m", "", prompts[1])
	if fault == "gone" {
		s.wait("nothing to be left", func() bool { return s.subscriber.Index.Stats().Entries == 0 })
		s.strike("none")
	}
	s.send("m", "", prompts[2])
	s.wait("the last prompt", func() bool { return s.knows("m", "", prompts[2]) == whole })
	for i, text := range prompts {
		want := 0
		if known[i] {
			want = whole
		}
		got := s.knows("m", "", text)
		// SGLang has an event for each block: those before the tear count.
		if torn := fault == "torn" && s.servers[0].form == kvpub.SGLang && i == 1; torn && (got == 0 || got == whole) ||
			!torn && got != want {
			t.Errorf("prompt %d: %d tokens are known, want %d", i, got, want)
		}
	}
	c := s.count(s.servers[0])
	s.wait("forgotten, mended, malformed and restarts "+want, func() bool { // a gap is mended before that is counted
		return fmt.Sprint(c.forgotten.Load(), c.mended.Load(), c.malformed.Load(), c.restarts.Load()) == want
	})
}

// tokens is how many tokens the full blocks of a prompt have.
func (s *simulated) tokens(text string) int {
	s.t.Helper()
	var made struct{ Count int }
	s.call(http.MethodPost, "/tokenize", fmt.Sprintf(`{"prompt":%q}`, text), &made)
	return made.Count / simBlock * simBlock
}
