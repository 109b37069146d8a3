package e2e

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/journal"
)

// play is what happens by one document.
type play struct {
	*agreement
	t         *testing.T
	listener  string
	random    *rand.Rand
	judge     *judge
	tape      tape
	endpoints []harness.Endpoint // those that have come
	clients   []*http.Client     // one for each worker
	// instances are the workers, by client.
	instances [agreeWorkers]uint64
	open      []*asked
	compared  int
}

// asked is a request under way.
type asked struct {
	*turn
	header    http.Header
	body      string
	worker    int
	lease     uint32
	want      *verdict
	leave     context.CancelFunc
	responses chan *http.Response
	response  *http.Response // once it has begun
}

func (a *agreement) play(t *testing.T, l *harness.Listener, seed uint64) {
	p := &play{agreement: a, t: t, listener: l.Name, random: rand.New(rand.NewPCG(seed, 5)),
		judge: newJudge(t, l.PluginJSON), tape: tape{envoy: a.Envoy, client: harness.Client(t, false)},
		endpoints: slices.Clone(a.servers[:agreeFirst])}
	for i := range agreeWorkers {
		p.clients = append(p.clients, clientFrom(t, fmt.Sprint("127.0.0.", 2+i)))
	}
	p.load()
	p.tape.read(t, p.judge.hear) // what came by other documents
	for i := range agreeWorkers {
		p.end(p.ask(i))
	}
	for step := range agreeSteps {
		if step == agreeLate {
			p.endpoints = append(p.endpoints, a.servers[agreeFirst:]...)
			p.load()
		}
		p.step()
	}
	for len(p.open) > 0 {
		p.answer(0)
	}
	for i := range agreeWorkers { // at rest
		p.end(p.ask(i))
	}
	if p.instances[0] == p.instances[1] {
		t.Errorf("both connections were the worker's %x, want one for each", p.instances[0])
	}
	if p.compared < agreeSteps/4 {
		t.Errorf("%d decisions were compared, want %d at least", p.compared, agreeSteps/4)
	}
}

// clientFrom is a client with one connection, from an address of this machine's.
func clientFrom(t *testing.T, address string) *http.Client {
	client := harness.Client(t, true)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	client.Transport.(*http.Transport).DialContext = dialer.DialContext
	return client
}

func (p *play) step() {
	switch n := p.random.IntN(100); {
	case n < 6:
		p.load()
	case n < 50 && len(p.open) < 12:
		p.open = append(p.open, p.ask(p.random.IntN(agreeWorkers)))
	case len(p.open) > 0:
		p.answer(p.random.IntN(len(p.open)))
	}
}

// load has all endpoints report other loads.
func (p *play) load() {
	for i := range p.endpoints {
		e := &p.endpoints[i]
		e.Waiting, e.KV = uint32(1000*p.random.IntN(100)+113*i), p.random.Float64()
	}
	p.Publish(p.t, p.endpoints...)
	p.judge.see(p.endpoints, time.Now())
}

// ask has a request come to a worker, and the judge decide it, too.
func (p *play) ask(worker int) *asked {
	p.t.Helper()
	user := fmt.Sprint("u", p.random.IntN(4))
	q := &asked{worker: worker, responses: make(chan *http.Response, 1), header: http.Header{}}
	q.header.Set("x-session-id", fmt.Sprint(p.random.IntN(5)))
	q.header.Set("user", user)
	q.body = fmt.Sprintf(`{"model":"m%d","user":%q,"stream":%v,"prompt":%q}`, p.random.IntN(2), user,
		p.random.IntN(2) == 0, strings.Repeat(fmt.Sprintf("prompt %d ", p.random.IntN(5)), 1+p.random.IntN(200)))
	request := harness.Request(p.t, http.MethodPost, p.URL(p.listener, "/v1/completions"), q.body, false)
	maps.Copy(request.Header, q.header)
	ctx, leave := context.WithCancel(p.t.Context())
	q.leave = leave
	go func() {
		defer close(q.responses)
		if response, err := p.clients[worker].Do(request.WithContext(ctx)); err == nil {
			q.responses <- response
		}
	}()
	select {
	case q.turn = <-p.arrived:
	case response := <-q.responses:
		p.t.Fatalf("got %+v before a server was asked", response)
	case <-time.After(agreeLimit):
		p.t.Fatal("no server was asked")
	}
	p.listen(q, journal.Decision)
	return q
}

// listen tells the judge what is new in the journal until that has an event of a request. The judge decides, too, right
// before it hears of the decision.
func (p *play) listen(q *asked, until journal.Kind) {
	p.t.Helper()
	harness.WaitFor(p.t, agreeLimit, "the journal to tell of a request", func() (found bool, seen string) {
		p.tape.read(p.t, func(e *journal.Event) {
			seen += fmt.Sprintf("kind %d of lease %d; ", e.Kind, e.Lease)
			if e.Kind == journal.Decision {
				q.want, q.lease = p.judge.decide(p.t, q.header, q.body, e.Time), e.Lease
				p.from(q.worker, e.Instance)
			}
			found = found || e.Kind == until && e.Lease == q.lease && e.Instance == p.instances[q.worker]
			p.judge.hear(e)
		})
		return found, seen
	})
}

// from checks that all of a connection's requests are decided by one worker.
func (p *play) from(worker int, instance uint64) {
	if p.instances[worker] == 0 {
		p.instances[worker] = instance
	}
	if p.instances[worker] != instance {
		p.t.Fatalf("worker %d: got %x, want %x", worker, instance, p.instances[worker])
	}
}

// answer has a request go on: its answer begins, goes on, ends or breaks off, or its client leaves.
func (p *play) answer(i int) {
	q, random := p.open[i], p.random
	leaves, ends := random.IntN(10) == 0, random.IntN(3) == 0
	breaks := random.IntN(8) == 0 && q.response != nil
	status := [...]int{200, 200, 200, 200, 200, 200, 500, 503}[random.IntN(8)]
	frame := `data: {"choices":[{"text":"a"}]}` + "\n\n"
	if random.IntN(2) == 0 {
		frame = fmt.Sprintf(`data: {"choices":[{"text":"a"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,`+
			`"prompt_tokens_details":{"cached_tokens":%d}}}`+"\n\n", 10+random.IntN(1000), random.IntN(100),
			16*random.IntN(20))
	}
	switch {
	case leaves:
		q.leave()
	case breaks:
		p.tell(q, func(http.ResponseWriter) bool { panic(http.ErrAbortHandler) })
	default:
		p.write(q, status, frame, ends)
	}
	if leaves || ends || breaks {
		p.close(q)
		p.open = slices.Delete(p.open, i, i+1)
	}
}

// tell tells a request's server what to do.
func (p *play) tell(q *asked, do func(http.ResponseWriter) bool) {
	p.t.Helper()
	select {
	case q.do <- do:
	case <-time.After(agreeLimit):
		p.t.Fatalf("%s has lost a request", q.server)
	}
}

// write has the server of a request begin its answer, or go on.
func (p *play) write(q *asked, status int, frame string, ends bool) {
	p.t.Helper()
	begins := q.response == nil
	p.tell(q, func(w http.ResponseWriter) bool {
		if begins {
			w.WriteHeader(status)
		}
		_, _ = io.WriteString(w, frame)
		return ends
	})
	if begins {
		p.compare(q, <-q.responses)
	}
	if _, err := io.ReadFull(q.response.Body, make([]byte, len(frame))); err != nil {
		p.t.Fatalf("an answer of %s: %v", q.server, err)
	}
}

// compare compares what a worker and the judge made of a request.
func (p *play) compare(q *asked, response *http.Response) {
	p.t.Helper()
	if q.response = response; response == nil {
		p.t.Fatalf("%s was asked, and no answer came", q.server)
	}
	got := verdictOf(p.t, harness.Answer{Status: response.StatusCode, Header: response.Header})
	if difference := got.differs(q.want, digits); difference != "" {
		p.t.Fatalf("decision %d, by worker %d:\n%s", p.compared, q.worker, difference)
	}
	p.compared++
}

// end answers a request.
func (p *play) end(q *asked) {
	p.t.Helper()
	p.write(q, http.StatusOK, `{"usage":{"prompt_tokens":100,"completion_tokens":10}}`, true)
	p.close(q)
}

// close waits for the end of a request that ends.
func (p *play) close(q *asked) {
	p.t.Helper()
	if q.response != nil {
		_, _ = io.Copy(io.Discard, q.response.Body)
		_ = q.response.Body.Close()
	}
	p.listen(q, journal.Completion)
	q.leave()
}
