package sidecar

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/dns/dnstest"
	"github.com/pintle-dev/pintle/internal/stack"
)

// TestWorld drives a sidecar through random events: endpoints come, go and change in four sources, which break and
// mend, servers and gateways fail in all ways, restart and recover, and so does the sidecar. Each time that nothing
// happens for a while, what the gateways were told and what the sidecar says of itself has to be what is true, and
// nothing may be left of what is gone. PINTLE_WORLD says with how many seeds, such as 100.
func TestWorld(t *testing.T) {
	const rounds, events = 3, 12
	seeds := uint64(2)
	if text := os.Getenv("PINTLE_WORLD"); text != "" {
		var err error
		if seeds, err = strconv.ParseUint(text, 10, 32); err != nil {
			t.Fatalf("PINTLE_WORLD=%s: want a number, such as 100", text)
		}
	}
	for seed := range seeds {
		before := runtime.NumGoroutine()
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for range rounds {
				for range events {
					w.step()
					if w.random.IntN(2) == 0 {
						time.Sleep(time.Duration(w.random.IntN(100)) * time.Millisecond)
					}
				}
				w.say("calm")
				w.check()
			}
		})
		const ending = 8 // connections of clients and servers that the test itself has
		eventually(t, "no goroutines left", func() bool { return runtime.NumGoroutine() <= before+ending })
	}
}

// world is all that a sidecar deals with, and the sidecar.
type world struct {
	t      testing.TB
	random *rand.Rand
	// port is that of the model servers, each of which has an address of its own.
	port     int
	servers  []*worldServer
	gateways []*worldGateway
	api      *worldAPI
	dns      *dnstest.Server
	// static and file are what the documents say, pods and names what Kubernetes and DNS do.
	static, file source
	pods         map[string]listed
	names        []int
	priority     int // of the last objective

	folder, admin string
	// fed is how many gateways the sidecar that runs knows.
	fed  int
	log  *harness.Log
	stop func() (code int)
	life int

	// counted are the requests that former sidecars told of, by model; of those in inexact some may be told twice.
	counted map[string]int
	inexact map[string]bool
	// before is what was told in the last calm.
	before map[string]process
	events []string
}

func newWorld(t testing.TB, seed uint64) *world {
	const servers, gateways = 7, 3
	port, err := stack.FreePorts(gateways + 3)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, seed)), port: port, folder: t.TempDir(),
		pods: map[string]listed{}, counted: map[string]int{}, inexact: map[string]bool{}}
	for i := range servers {
		w.servers = append(w.servers, newWorldServer(t, fmt.Sprintf("127.0.1.%d:%d", i+1, port)))
	}
	for i := range gateways {
		w.gateways = append(w.gateways, newWorldGateway(t, i, stack.Address(port+1+i)))
	}
	w.api, w.dns = newWorldAPI(t, stack.Address(port+gateways+1)), dnstest.New(t)
	w.admin = stack.Address(port + gateways + 2)
	writeFile(t, filepath.Join(w.folder, "kubeconfig"), fmt.Sprintf(`{"clusters":[{"name":"c","cluster":{"server":`+
		`"http://%s"}}],"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}]}`, w.api.address))
	w.start()
	t.Cleanup(func() {
		w.stop()
		if t.Failed() {
			t.Logf("events:\n%s\nlog:\n%s", strings.Join(w.events, "\n"), w.log)
		}
	})
	return w
}

// say writes an event down.
func (w *world) say(format string, args ...any) {
	w.events = append(w.events, time.Now().UTC().Format("05.000 ")+fmt.Sprintf(format, args...))
}

// start starts a sidecar that feeds one gateway, or more.
func (w *world) start() {
	w.fed = 1 + w.random.IntN(len(w.gateways))
	w.life++
	w.writeStatic(false)
	w.writeFile(false)
	w.say("the sidecar starts and feeds %d", w.fed)
	for _, g := range w.gateways {
		g.forgetSent()
	}
	ctx, cancel := context.WithCancel(context.Background())
	done, log := make(chan int, 1), &harness.Log{}
	go func() { done <- Command(ctx, []string{"-c", w.configPath()}, io.Discard, log) }()
	w.log = log
	code, ended := 0, false
	w.stop = func() int {
		cancel()
		for deadline := time.After(time.Minute); !ended; {
			select {
			case code = <-done:
				ended = true
			case <-deadline:
				w.t.Fatalf("the sidecar does not end:\n%s", goroutines())
			}
		}
		return code
	}
	w.eventually("the sidecar to answer", func() string {
		if text := w.get("/livez"); !strings.Contains(text, `"ok"`) {
			return text
		}
		return ""
	})
}

// restart has a sidecar take the place of the one that runs. What it would not begin with is mended before.
func (w *world) restart() {
	for _, g := range w.gateways {
		if !g.answers() {
			w.inexact[g.model()] = true // it cannot be told up to where its requests were counted
		}
	}
	for model, n := range requestsOf(w.get("/metrics")) {
		w.counted[model] += n
	}
	// These the next one counts.
	w.gateways[w.random.IntN(len(w.gateways))].serve(w.random.IntN(20), "unknown")
	if code := w.stop(); code != 0 {
		w.t.Fatalf("the sidecar ended with %d, want 0", code)
	}
	w.file.want = slices.DeleteFunc(slices.Clone(w.file.want), func(e listed) bool {
		return slices.ContainsFunc(w.static.want, func(other listed) bool { return other.name == e.name })
	})
	w.setNames(false, w.names)
	w.start()
}

func (w *world) get(path string) string {
	_, body := (&running{admin: w.admin}).get(path)
	return body
}

// eventually waits until wrong has nothing to say.
func (w *world) eventually(what string, wrong func() string) {
	w.t.Helper()
	why := ""
	eventually(w.t, what, func() bool {
		said := wrong()
		if said != why && said != "" {
			w.say("waiting for %s: %.300s", what, said)
		}
		why = said
		return why == ""
	})
}

// pick returns one of all.
func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }
