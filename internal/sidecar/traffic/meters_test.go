package traffic

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// TestHistogramsAreBounded has more models than have histograms of their own.
func TestHistogramsAreBounded(t *testing.T) {
	f := newFixture(t, false)
	var models []string
	for i := range 2 * mostModels {
		models = append(models, fmt.Sprint("model ", i))
	}
	f.names = follow.NamesOf(map[journal.NameKind][]string{journal.ModelName: models}, []string{"vllm-0"})
	for _, model := range models {
		f.take(f.decide(model, "vllm-0"), false)
	}
	if n := strings.Count(f.page(), "\npintle_request_duration_seconds_count{"); n > mostModels+1 {
		t.Errorf("got histograms of %d models, want %d at most", n, mostModels+1)
	}
	f.want(fmt.Sprintf(`pintle_request_duration_seconds_count{model="other"} %d`, mostModels))
}

// twice tells one series twice.
type twice struct{ prometheus.Gauge }

// Describe implements prometheus.Collector.
func (twice) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (t twice) Collect(out chan<- prometheus.Metric) {
	out <- t.Gauge
	out <- t.Gauge
}

// TestPositionToldBesideAMistake: what is on a page that lacks a series has been told, and nothing by one that lacks
// all.
func TestPositionToldBesideAMistake(t *testing.T) {
	f := newFixture(t, false)
	f.registry.MustRegister(twice{prometheus.NewGauge(prometheus.GaugeOpts{Name: "made_up", Help: "Made up."})})
	at := journal.Position{Epoch: 1, Seq: 5}
	f.Caught("gateway", at)
	nothing := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return nil, errors.New("down") })
	if _, err := f.Gatherer(nothing).Gather(); err == nil {
		t.Fatal("got no mistake of a page that has nothing, want one")
	}
	if got := f.Told("gateway"); got != (journal.Position{}) {
		t.Errorf("beside a page that has nothing: got %v, want nothing", got)
	}
	if families, err := f.Gatherer(f.registry).Gather(); err == nil || len(families) == 0 {
		t.Fatalf("got %d families, %v, want all but one, and a mistake", len(families), err)
	}
	if got := f.Told("gateway"); got != at {
		t.Errorf("got %v, want %v", got, at)
	}
}
