package sidecar

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/admin"
)

// check waits until all that is said is true, and looks for what is left of what is gone.
func (w *world) check() {
	w.t.Helper()
	for _, s := range w.servers {
		s.work()
	}
	// Somebody has to tell which documents hold, and the starts of processes.
	first := w.gateways[0]
	first.set(well)
	first.start()
	for _, g := range w.gateways[:w.fed] {
		if g.answers() {
			w.eventually(fmt.Sprint("gateway ", g.number), func() string { return w.differs(g.received()) })
		}
	}
	w.static.settle()
	w.file.settle()
	w.checkStays()
	w.checkProcesses(first.received())
	all, _, twice := w.truth()
	w.eventually("the status", func() string { return w.wrongStatus(all, twice) })
	w.eventually("the metrics", func() string { return w.wrongMetrics(all) })
	w.eventually("the goroutines", func() string { return w.wrongGoroutines(len(all)) })
	w.eventually("the connections", func() string { return w.wrongConnections(all) })
}

// checkStays: nobody is told something else while nothing happens.
func (w *world) checkStays() {
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); time.Sleep(3 * time.Millisecond) {
		for _, g := range w.gateways[:w.fed] {
			if !g.answers() {
				continue
			}
			if why := w.differs(g.received()); why != "" {
				w.t.Fatalf("gateway %d, after it was told what is true: %s", g.number, why)
			}
		}
	}
}

// wrongStatus says what of the status page is not true.
func (w *world) wrongStatus(all []expected, twice bool) string {
	var status admin.Status
	text := w.get("/status")
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		return text + err.Error()
	}
	if len(status.Endpoints) != len(all) {
		return fmt.Sprintf("got %d endpoints, want %d", len(status.Endpoints), len(all))
	}
	for i, e := range status.Endpoints {
		s, readable := w.readable(&all[i])
		if e.Name != all[i].name || e.Address != all[i].address || (e.LastError == "") != readable ||
			readable && (e.Metrics == nil || e.Metrics.Waiting != uint32(s.waiting) || e.Engine != s.kind) {
			return fmt.Sprintf("got %+v, want %+v, which can be read: %v, as %+v", e, all[i], readable, s)
		}
	}
	for i, e := range status.Envoys {
		if accepted := e.Result == "accepted" && e.Topology == status.Topology; accepted != w.gateways[i].answers() {
			return fmt.Sprintf("got %+v for gateway %d, which answers: %v", e, i, w.gateways[i].answers())
		}
	}
	for _, warning := range []struct {
		pattern string
		want    bool
	}{
		{"^" + regexp.QuoteMeta(w.configPath()) + ": .*; the last good endpoints stay", w.static.broken},
		{"^" + regexp.QuoteMeta(w.endpointsPath()) + ": .*; the last good endpoints stay", w.file.broken},
		{"is there already", twice},
		{"^discovery.kubernetes: ", false},
		{"^discovery.dns pool.test.: .* on " + regexp.QuoteMeta(w.dns.Address) + ": ", w.dns.Fails()},
	} {
		match := regexp.MustCompile(warning.pattern).MatchString
		if got := slices.ContainsFunc(status.Warnings, match); got != warning.want {
			return fmt.Sprintf("a warning of %s: got %v, want %v, in %q", warning.pattern, got, warning.want,
				status.Warnings)
		}
	}
	return ""
}

var (
	ofEndpoint = regexp.MustCompile(`(?m)^(pintle_\w+)\{(?:.*,)?endpoint="([^"]*)"`)
	ofModel    = regexp.MustCompile(`(?m)^pintle_requests_total\{.*model="([^"]*)",status="200"\} (\S+)$`)
)

// wrongMetrics says what of the metrics is not true: there are series of those endpoints alone that there are, and each
// request was counted once.
func (w *world) wrongMetrics(all []expected) string {
	text := w.get("/metrics")
	series := map[string]bool{}
	for _, m := range ofEndpoint.FindAllStringSubmatch(text, -1) {
		series[m[1]+" "+m[2]] = true
		requests := strings.HasSuffix(m[1], "_total") && !strings.HasPrefix(m[1], "pintle_sidecar_")
		// Of requests those that left keep their series for a while.
		if !requests && !slices.ContainsFunc(all, func(e expected) bool { return e.name == m[2] }) {
			return fmt.Sprintf("%s has a series of %s, which left", m[1], m[2])
		}
	}
	for i := range all {
		for _, metric := range []string{"pintle_sidecar_scrapes_total", "pintle_sidecar_model_lists_total",
			"pintle_requests_in_flight", "pintle_failure_share"} {
			if !series[metric+" "+all[i].name] {
				return fmt.Sprintf("%s has no series of %s", metric, all[i].name)
			}
		}
		_, readable := w.readable(&all[i])
		good := strings.Contains(text, fmt.Sprintf(`pintle_sidecar_scrapes_total{endpoint=%q,result="ok"}`, all[i].name))
		if readable && !good {
			return "no good scrape is counted of " + all[i].name
		}
	}
	if want := fmt.Sprintf("\npintle_sidecar_topology_endpoints %d\n", len(all)); !strings.Contains(text, want) {
		return "want" + want
	}
	return w.wrongRequests(requestsOf(text))
}

// requestsOf are the requests that a page of metrics tells of, by model.
func requestsOf(text string) map[string]int {
	all := map[string]int{}
	for _, m := range ofModel.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseFloat(m[2], 64)
		all[m[1]] += int(n)
	}
	return all
}

// wrongRequests compares the requests that are counted with those that gateways have in their journals. What one that
// does not answer, or is no more, wrote last may not have been read.
func (w *world) wrongRequests(now map[string]int) string {
	for i, g := range w.gateways {
		for model, want := range g.served() {
			got := w.counted[model] + now[model]
			read := i < w.fed && g.answers() && model == g.model()
			if read && got < want || got > want && !w.inexact[model] {
				return fmt.Sprintf("requests for %s: got %d, %d of them before, want %d", model, got,
					w.counted[model], want)
			}
		}
	}
	return ""
}

func goroutines() string {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1)
	return b.String()
}

// wrongGoroutines says of which goroutines there are more, or fewer, than one for each endpoint and gateway.
func (w *world) wrongGoroutines(endpoints int) string {
	text := goroutines()
	for function, want := range map[string]int{"scrape.(*scraper).run+": endpoints,
		"scrape.(*modelLister).run+": endpoints, "push.(*Pusher).run+": w.fed, "follow.(*Follower).Run+": w.fed} {
		got := 0
		for stack := range strings.SplitSeq(text, "\n\n") {
			if strings.Contains(stack, function) {
				number, _, _ := strings.Cut(strings.TrimSpace(stack), " ")
				n, _ := strconv.Atoi(number)
				got += n
			}
		}
		if got != want {
			return fmt.Sprintf("%s: got %d, want %d", function, got, want)
		}
	}
	return ""
}

// wrongConnections says who has more connections than are needed: one for the load and one for the models of each
// endpoint, and of a gateway one to push, one to follow, and one more while they change.
func (w *world) wrongConnections(all []expected) string {
	for i, s := range w.servers {
		most := 0
		for j := range all {
			if all[j].server == i {
				most += 2
			}
		}
		if n := s.connections(); n > most {
			return fmt.Sprintf("server %s has %d connections, want at most %d", s.address, n, most)
		}
	}
	for i, g := range w.gateways {
		most := 0
		if i < w.fed {
			most = 3
		}
		if n := g.connections(); n > most {
			return fmt.Sprintf("gateway %d has %d connections, want at most %d", i, n, most)
		}
	}
	return ""
}
