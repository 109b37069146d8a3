package sidecar

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/pintle-dev/pintle/internal/sidecar/dns/dnstest"
)

// listed is an endpoint as a source has it.
type listed struct {
	name   string
	server int
	labels map[string]string
	models []string
	engine string
}

// source is a document with endpoints, and an objective by whose priority it is known which one is in force.
type source struct {
	want   []listed // in the last one, good or not
	broken bool
	// good and priority are of the one that holds, as far as that is known; may are all good ones since it was known,
	// by their priorities: one that was overwritten at once may have been seen or not.
	good     []listed
	priority int
	may      map[int][]listed
}

func (s *source) wrote(priority int, broken bool) {
	if s.broken = broken; broken {
		return
	}
	if s.may == nil {
		s.may = map[int][]listed{}
	}
	s.good, s.priority = slices.Clone(s.want), priority
	s.may[priority] = s.good
}

// told takes it that the document in force has an objective of that priority.
func (s *source) told(priority int32) {
	if good, ok := s.may[int(priority)]; ok && s.broken {
		s.good, s.priority = good, int(priority)
	}
}

// settle takes it that what holds is known.
func (s *source) settle() { s.may = map[int][]listed{s.priority: s.good} }

func (w *world) list(all []listed) string {
	var b strings.Builder
	for _, e := range all {
		labels, _ := json.Marshal(e.labels)
		fmt.Fprintf(&b, "{name: %s, address: '%s', labels: %s", e.name, w.servers[e.server].address, labels)
		if e.models != nil {
			fmt.Fprintf(&b, ", models: [%s]", strings.Join(e.models, ", "))
		}
		if e.engine != "" {
			b.WriteString(", engine: " + e.engine)
		}
		b.WriteString("}, ")
	}
	return "[" + b.String() + "]"
}

func (w *world) configPath() string    { return filepath.Join(w.folder, "sidecar.yaml") }
func (w *world) endpointsPath() string { return filepath.Join(w.folder, "endpoints.yaml") }

func (w *world) writeStatic(broken bool) {
	var ingests []string
	for _, g := range w.gateways[:w.fed] {
		ingests = append(ingests, "'http://"+g.address+"'")
	}
	w.priority++
	text := fmt.Sprintf("envoy: {ingest: [%s], token: %s}\nadmin: {address: '%s'}\nfollow: {interval: 20ms}\n"+
		"scrape: {interval: 10ms, timeout: 300ms, models: 1s}\npush: {interval: 5ms}\n"+
		"objectives: [{name: a, priority: %d}]\ndiscovery: {static: %s, file: endpoints.yaml, kubernetes: "+
		"{kubeconfig: kubeconfig, namespace: ns, pools: [{selector: app=a, ports: [%d]}]}, "+
		"dns: [{name: pool.test., port: %d, interval: 100ms, server: '%s'}]}\n", strings.Join(ingests, ", "), testToken,
		w.admin, w.priority, w.list(w.static.want), w.port, w.port, w.dns.Address)
	if broken {
		text += pick(w.random, "unknown: 1\n", "{{{", "scrape: {interval: 1}\n")
	}
	writeFile(w.t, w.configPath(), text)
	w.static.wrote(w.priority, broken)
}

func (w *world) writeFile(broken bool) {
	w.priority++
	text := fmt.Sprintf("endpoints: %s\nobjectives: [{name: b, priority: %d}]\n", w.list(w.file.want), w.priority)
	if broken {
		text += pick(w.random, "unknown: 1\n", "{{{", "endpoints: []\n")
	}
	writeFile(w.t, w.endpointsPath(), text)
	if broken && w.random.IntN(3) == 0 {
		_ = os.Remove(w.endpointsPath())
	}
	w.file.wrote(w.priority, broken)
}

// setNames has the DNS server answer so, or fail. What it said before has been heard when it begins to fail.
func (w *world) setNames(fails bool, servers []int) {
	const name = "pool.test."
	if before := w.dns.Looks(); fails {
		w.eventually("looks at names", func() string {
			if n := w.dns.Looks(); n < before+3 {
				return fmt.Sprint("it was asked ", n-before, " times, want 3")
			}
			return ""
		})
		w.dns.Set(name, true)
		return
	}
	var records []dnsmessage.ResourceBody
	for _, i := range servers {
		records = append(records, dnstest.A(netip.MustParseAddrPort(w.servers[i].address).Addr().String()))
	}
	w.names = servers
	w.dns.Set(name, false, records...)
}
