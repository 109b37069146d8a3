package sidecar

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// sharing is a sidecar that shares its scrapes with others.
type sharing struct {
	*running
	t  testing.TB
	in *ingest
}

// newSharing starts one that scrapes the endpoint a.
func newSharing(t testing.TB, name, redis string, server *modelServer) *sharing {
	in, url := newIngest(t)
	r := startWith(t, func(admin string) string {
		return strings.Replace(configYAML(admin, url, "{static: "+staticYAML("a", server.address())+"}"), "scrape: {",
			"scrape: {share: true, idleInterval: 1s, ", 1) +
			"replicate: {redis: 'redis://" + redis + "', gateway: " + name + "}\n"
	})
	return &sharing{r, t, in}
}

// metric is the value of a metric, -1 when there is none.
func (s *sharing) metric(name string) float64 {
	_, text := s.get("/metrics")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}

func (s *sharing) scrapes() float64 {
	return s.metric(`pintle_sidecar_scrapes_total{endpoint="a",result="ok"}`)
}

func (s *sharing) holds() bool { return s.metric("pintle_replication_scraper") == 1 }

// restsWhile reports whether the other scraped twenty times on end while this one did not, and took its samples.
func (s *sharing) restsWhile(other *sharing) bool {
	const samples = "pintle_replication_shared_samples_total"
	mine, others, taken := s.scrapes(), other.scrapes(), s.metric(samples)
	eventually(s.t, "more scrapes", func() bool { return other.scrapes() >= others+20 })
	_, status := s.get("/status")
	return mine == s.scrapes() && s.metric(samples) > taken && strings.Contains(status, "scraped for by")
}

// wantOneScraper waits until one of two scrapes for both. It may become the other one where processes stand still.
func wantOneScraper(t *testing.T, a, b *sharing) {
	t.Helper()
	eventually(t, "one of them to scrape for both", func() bool {
		switch {
		case a.holds():
			return b.restsWhile(a)
		case b.holds():
			return a.restsWhile(b)
		}
		return false
	})
}

// TestShare has one of two sidecars scrape for both, until it ends, and each for itself without a Redis.
func TestShare(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	server := newModelServer(t, 1)
	server.counting.Store(true) // each sample differs
	a := newSharing(t, "a", v.Address, server)
	eventually(t, "the first one to scrape for all", a.holds)
	b := newSharing(t, "b", v.Address, server)
	wantOneScraper(t, a, b)
	// What the one that rests tells its Envoy is what the other has read.
	seen := int(server.requests.Load())
	for _, s := range []*sharing{a, b} {
		s.in.await("new samples", func(m *received) bool { return m.waiting("a") > seen })
	}

	a.stop()
	eventually(t, "the second one to scrape for all", b.holds)
	c := newSharing(t, "c", v.Address, server)
	wantOneScraper(t, b, c)

	v.Kill()
	for _, s := range []*sharing{b, c} {
		before := s.scrapes()
		eventually(t, "each to scrape for itself", func() bool { return !s.holds() && s.scrapes() > before+5 })
	}
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	wantOneScraper(t, b, c)
}
