package main_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/branchhints"
	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/internal/shipped"
)

var update = flag.Bool("update", false, "learn anew which branches requests take, for "+branchesPath)

const (
	branchesPath = "branches.txt"
	// compilerPath has the version of the pinned TinyGo, or the path of another one that make setup found.
	compilerPath  = "../build/.cache/tinygo.version"
	branchesTitle = `# Which way requests go at the branches of the module's functions, by their shapes (internal/branchhints).
# Written by: make branches
`
)

// TestBranches: the profile by which the module got its hints is still one of this module. With -update it is written
// anew.
func TestBranches(t *testing.T) {
	wasm, err := module()
	if err != nil {
		t.Fatalf("%v; run make build", err)
	}
	parsed, err := branchhints.Parse(wasm)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	if *update {
		text := branchesTitle + learnBranches(t, parsed).Text()
		if err := os.WriteFile(branchesPath, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(branchesPath)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := branchhints.ReadProfile(string(text))
	if err != nil {
		t.Fatalf("%s: %v", branchesPath, err)
	}
	hinted, fit := parsed.Hinted(profile)
	if string(hinted) != string(wasm) {
		t.Errorf("%s has not the hints that %s gives: run make build", modulePath, branchesPath)
	}
	if compiler, _ := os.ReadFile(compilerPath); strings.HasPrefix(string(compiler), "/") {
		t.Skipf("%s compiled the module, not the TinyGo that the profile is for", strings.TrimSpace(string(compiler)))
	}
	if least := fit.Known * 9 / 10; fit.Known == 0 || fit.Found < least {
		t.Errorf("functions of %s in the module: got %d of %d, want at least %d: run make branches", branchesPath,
			fit.Found, fit.Known, least)
	}
}

// learnBranches has a module that counts its branches serve what is usual: the shipped configuration and one that goes
// by load alone, in all modes, chats that are new and that go on, short and long, streamed and not, alone and many.
func learnBranches(t *testing.T, parsed *branchhints.Module) branchhints.Profile {
	counting := parsed.Counting()
	var workers []*worker
	requests := 0
	for _, m := range modes {
		for _, document := range []string{shipped.JSON(), byQueue} {
			clock := wazerohost.NewClock(startTime)
			options := m.options(clock)
			options.Interpreted = true
			host := newHostOf(t, func() ([]byte, error) { return counting, nil }, options)
			g := &gateway{t: t, mode: m, clock: clock, host: host}
			g.start(1, m.configuration(document, ""))
			requests += g.serveUsual()
			workers = append(workers, g.workers...)
		}
	}
	return parsed.Profile(requests, func(name string) (sum uint64) {
		for _, w := range workers {
			sum += w.Global(name)
		}
		return sum
	})
}

// serveUsual sends requests and returns how many that were.
func (g *gateway) serveUsual() int {
	const requests, endpoints, each = 300, 16, 25
	w := g.workers[0]
	for i := range requests {
		if i%each == 0 {
			g.clock.Advance(50 * time.Millisecond)
			p := newPool(make([]uint32, endpoints)...)
			for e := range p.Load.Endpoints {
				p.Load.Endpoints[e].WaitingRequests = uint32((e + i) * 7 % 11)
				p.Load.Endpoints[e].RunningRequests = uint32((e + i) * 5 % 13)
			}
			g.publish(p)
		}
		if i%100 == 99 {
			g.clock.Advance(time.Second)
			w.Tick()
		}
		g.clock.Advance(time.Millisecond)
		w.chat(i, endpoints)
	}
	return requests
}

// chat sends the i-th request and has it answered: a turn of one of a few conversations, or of a new one.
func (w *worker) chat(i, endpoints int) {
	size := []int{2_000, 16_000}[i/2%2]
	about := i % 10
	if i%3 == 0 {
		about = i
	}
	prompt := strings.Repeat(fmt.Sprintf("words %d of a prompt, ", about), size/20)
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":%q},{"role":"user","content":"turn\n%d"}`+
		`],"max_tokens":64,"temperature":0.7,"stream":%v}`, prompt, i, i%2 == 0)
	s := w.requests.Request(wazerohost.Headers{
		{":path", "/v1/chat/completions"}, {"content-length", fmt.Sprint(len(body))},
		{"content-type", "application/json"}, {"user-agent", "x"}, {"accept", "*/*"},
		{"x-request-id", fmt.Sprint(i)}}, false)
	for start := 0; start < len(body); start += 16 << 10 {
		end := min(start+16<<10, len(body))
		s.Body([]byte(body[start:end]), end == len(body))
	}
	s.SetServer(address(i % endpoints))
	const usage = `"usage":{"prompt_tokens":500,"completion_tokens":16,"total_tokens":516}}`
	if i%2 == 0 {
		s.Respond(wazerohost.Headers{{":status", "200"}, {"content-type", "text/event-stream"}}, false)
		for range 16 {
			s.RespondBody([]byte(`data: {"id":"1","choices":[{"index":0,"delta":{"content":"word"}}]}`+"\n\n"), false)
		}
		s.RespondBody([]byte(`data: {"id":"1","choices":[],`+usage+"\n\ndata: [DONE]\n\n"), true)
		return
	}
	s.Respond(wazerohost.Headers{{":status", "200"}, {"content-type", "application/json"}}, false)
	s.RespondBody([]byte(`{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"words"}}],`+usage),
		true)
}
