package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestWorkersAgree: three workers decide as one does that has seen the same, whatever comes when.
func TestWorkersAgree(t *testing.T) {
	for name, document := range harness.Agreeing() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				wantAgreement(t, document, "", seed, false)
			}
		})
	}
}

// TestBusyWorkersAgree: so do busy workers, once they have told what they held back, but for what goes by the order of
// events, as each knows its own at once: failures, predicted latencies, and reports of cached tokens.
func TestBusyWorkersAgree(t *testing.T) {
	for name, document := range harness.Agreeing() {
		if name == "latency-scorer" || name == "predicted-latency-scorer" {
			continue
		}
		t.Run(name, func(t *testing.T) { wantAgreement(t, document, `"failing":{"policy":"ignore"},`, 3, true) })
	}
}

// TestLateWorkersAgree: so do workers that begin later, as those do that Envoy makes anew.
func TestLateWorkersAgree(t *testing.T) {
	m := modes[2]
	for name, document := range harness.Agreeing() {
		t.Run(name, func(t *testing.T) {
			configuration := m.configuration(document, compared)
			one, late := newScene(t, m, 1, configuration, 0, false), newScene(t, m, 1, configuration, 0, false)
			one.grows, late.grows = true, true
			for step := range 600 {
				if step%100 == 99 {
					late.start(1, configuration)
				}
				wantSame(t, step, one.step(), late.step())
			}
		})
	}
}

// TestShadowsAgree: a shadow of the acting document decides as that does, whatever comes when.
func TestShadowsAgree(t *testing.T) {
	m := modes[2]
	for name, document := range harness.Agreeing() {
		t.Run(name, func(t *testing.T) {
			configuration := m.configuration(document, `"stale":{"policy":"last"},"shadow":{"config":`+document+`},`)
			s := newScene(t, m, 3, configuration, 2, false)
			(&follower{gateway: s.gateway}).events() // what a shadow decides is told to followers
			for range 400 {
				s.step()
			}
			shadowed := 0
			for _, e := range s.events(journal.Decision) {
				if !e.Shadowed.Decided {
					continue
				}
				if shadowed++; e.Shadowed.Primary != e.Primary {
					t.Errorf("decision %d: the shadow chose %d, want %d", shadowed, e.Shadowed.Primary, e.Primary)
				}
			}
			if shadowed < 80 {
				t.Errorf("%d decisions were shadowed, want 80 at least", shadowed)
			}
		})
	}
}

// compared are settings by which scores are told, and do not become equal with time.
const compared = `"debug":true,"stale":{"policy":"last"},`

func wantAgreement(t *testing.T, document, extra string, seed uint64, busy bool) {
	t.Helper()
	m := modes[2]
	configuration := m.configuration(document, compared+extra)
	one, three := newScene(t, m, 1, configuration, seed, busy), newScene(t, m, 3, configuration, seed, busy)
	for step := range 600 {
		wantSame(t, step, one.step(), three.step())
	}
}

func wantSame(t *testing.T, step int, one, several string) {
	t.Helper()
	if one != several {
		t.Fatalf("step %d:\none worker: %s\nseveral:    %s", step, one, several)
	}
}

// scene is what comes to a gateway by chance: requests and what becomes of them, snapshots, and time. With the same
// seed the same comes to any number of workers.
type scene struct {
	*gateway
	random *rand.Rand
	busy   bool
	grows  bool       // no endpoint leaves
	others []*gateway // beside the first one
	pool   *pool
	open   []*wazerohost.Stream
	begun  map[*wazerohost.Stream]bool
}

// sceneAt is a scene that has yet to begin.
func sceneAt(g *gateway, seed uint64) *scene {
	return &scene{gateway: g, random: rand.New(rand.NewPCG(seed, 3)), pool: &pool{},
		begun: map[*wazerohost.Stream]bool{}}
}

func newScene(t *testing.T, m mode, workers int, configuration string, seed uint64, busy bool) *scene {
	s := sceneAt(newGateway(t, m, workers, configuration), seed)
	s.busy, s.grows = busy, busy
	s.change()
	for i := range 3 { // a worker reads the journal from its first request on
		s.clock.Advance(time.Microsecond)
		s.workers[i%workers].ask().Finish()
	}
	for i := 0; busy && i < 3; i++ {
		s.makeBusy(s.workers[i%workers], func() { s.workers[i%workers].ask().Finish() })
	}
	return s
}

// step has something happen, and tells what.
func (s *scene) step() string {
	// Drawn in any case, so that all else is the same with any number of workers.
	n, worker := s.random.IntN(100), s.workers[s.random.IntN(1<<20)%len(s.workers)]
	switch {
	case n < 3:
		return s.change()
	case n < 8:
		return s.load()
	case n < 18:
		passed := time.Duration(s.random.IntN(300)) * time.Millisecond
		if s.busy {
			passed /= 1000
		}
		s.clock.Advance(passed)
		return "time passes"
	case n < 20 && !s.busy:
		for range s.random.IntN(7) {
			s.clock.Advance(time.Second)
			s.tickAll()
		}
		return "more time passes"
	case n < 26:
		worker.Tick()
		return "a worker ticks"
	case n < 50 && len(s.open) < 20:
		return s.asks(worker)
	case len(s.open) > 0:
		return s.answers(s.random.IntN(len(s.open)))
	}
	return "nothing"
}

func (s *scene) publishAll() {
	for _, g := range append(s.others, s.gateway) {
		g.publish(s.pool)
	}
}

func (s *scene) tickAll() {
	for _, w := range s.workers {
		w.Tick()
	}
}

// change has endpoints come, or others take the place of all. Before that all workers know what was, as what they are
// told of an endpoint that left they would take for one of its name that came; and when some have left all know it.
func (s *scene) change() string {
	s.tickAll()
	p, comes := &pool{}, len(s.pool.Topology.Endpoints) > 0 && (s.random.IntN(2) == 0 || s.grows)
	if comes {
		p.Topology.Endpoints = slices.Clone(s.pool.Topology.Endpoints)
		p.Load.Endpoints = slices.Clone(s.pool.Load.Endpoints)
	} else {
		defer s.tickAll()
	}
	all := newPool(make([]uint32, 8)...)
	for i := range all.Topology.Endpoints {
		all.label(i, "mif.moreh.io/role", [...]string{"prefill", "decode"}[i%2])
	}
	for _, i := range s.random.Perm(8)[:2+s.random.IntN(5)] {
		e := all.Topology.Endpoints[i]
		if slices.ContainsFunc(p.Topology.Endpoints, func(o snapshot.Endpoint) bool { return o.Name == e.Name }) {
			continue
		}
		p.Topology.Endpoints = append(p.Topology.Endpoints, e)
		p.Load.Endpoints = append(p.Load.Endpoints, snapshot.EndpointLoad{
			WaitingRequests: uint32(1000*s.random.IntN(100) + 113*i), KVCacheUsage: s.random.Float64()})
	}
	s.pool = p
	s.publishAll()
	return "the pool changes"
}

// load has the endpoints report other loads.
func (s *scene) load() string {
	for i := range s.pool.Load.Endpoints {
		e := &s.pool.Load.Endpoints[i]
		e.WaitingRequests = e.WaitingRequests%1000 + uint32(1000*s.random.IntN(100))
	}
	s.publishAll()
	return "loads change"
}

// asks has a request come.
func (s *scene) asks(w *worker) string {
	prompt := strings.Repeat(fmt.Sprintf("prompt %d ", s.random.IntN(5)), 1+s.random.IntN(200))
	user := fmt.Sprint("u", s.random.IntN(4))
	body := fmt.Sprintf(`{"model":"m%d","user":%q,"stream":%v,"prompt":%q}`, s.random.IntN(2), user,
		s.random.IntN(2) == 0, prompt)
	session := fmt.Sprint(s.random.IntN(5))
	s.clock.Advance(time.Microsecond)
	if s.busy {
		s.tickAll()
	}
	q := w.askBody(body, [2]string{"x-session-id", session}, [2]string{"user", user})
	if q.Sent() {
		s.open = append(s.open, q)
	}
	return "a request goes to " + s.ranked(q)
}

// answers has an open request go on: its answer begins, or goes on, or ends, or its client leaves.
func (s *scene) answers(i int) string {
	q, random := s.open[i], s.random
	leaves, whole, other := random.IntN(10) == 0, random.IntN(3) == 0, random.IntN(10) == 0
	status := [...]string{"200", "200", "200", "200", "200", "200", "500", "503"}[random.IntN(8)]
	frame := fmt.Sprintf(`data: {"choices":[{"text":"a"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":%d}}}`+"\n\n", 10+random.IntN(1000), random.IntN(100),
		16*random.IntN(20))
	if random.IntN(2) == 0 || s.busy {
		frame = `data: {"choices":[{"text":"a"}]}` + "\n\n"
	}
	text := "an answer goes on"
	switch {
	case leaves:
		q.Abort()
		text = "a client leaves"
	case !s.begun[q]:
		list := strings.Split(s.ranked(q), ",")
		q.SetServer(list[0])
		if other {
			q.SetServer(list[len(list)-1])
		}
		q.Respond(wazerohost.Headers{{":status", status}}, whole)
		s.begun[q] = true
		text = "an answer begins to a request of which was decided " + q.ResponseHeaders().Get("x-pintle-explain")
	default:
		q.RespondBody([]byte(frame), whole)
	}
	if leaves || whole {
		q.Finish()
		s.open = slices.Delete(s.open, i, i+1)
	}
	return text
}
