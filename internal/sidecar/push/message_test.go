package push

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/snapshot"
)

func TestMessageBoundsAdapters(t *testing.T) {
	g := &pool.Generation{Topology: &snapshot.Topology{}}
	for i := range 100 {
		tgt, sample := &pool.Target{}, engine.Sample{}
		for j := range 1000 {
			sample.RunningLoRA = append(sample.RunningLoRA, strings.Repeat("x", 200)+string(rune(i))+string(rune(j)))
		}
		tgt.Read(&sample, time.Now(), nil)
		g.Targets = append(g.Targets, tgt)
	}
	var e encoder
	body, err := e.message(g, snapshot.Position{Epoch: 1, Sequence: 1}, false, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Split(body); err != nil {
		t.Errorf("got %v for %d bytes, want a message that fits", err, len(body))
	}
}

// What one server says must not keep all others' load from Envoy, wherever it came from.
func TestMessageIsAlwaysEncodable(t *testing.T) {
	for _, usage := range []float64{-0.5, math.Inf(-1), 7, math.Inf(1), math.NaN()} {
		odd, sound := &pool.Target{}, &pool.Target{}
		odd.Read(&engine.Sample{KVCacheUsage: usage, WaitingRequests: math.MaxUint32}, time.Now(), nil)
		sound.Read(&engine.Sample{KVCacheUsage: 0.5}, time.Now(), nil)
		var e encoder
		g := &pool.Generation{Topology: &snapshot.Topology{}, Targets: []*pool.Target{odd, sound}}
		body, err := e.message(g, snapshot.Position{Epoch: 1, Sequence: 1}, false, time.Now())
		if err != nil {
			t.Errorf("usage %v: got %v, want a message", usage, err)
			continue
		}
		record, _, _ := snapshot.Next(body)
		var load snapshot.Load
		if err := load.Decode(record.Payload); err != nil || load.Endpoints[1].KVCacheUsage != 0.5 {
			t.Errorf("usage %v: got %+v, %v, want the sound server's load as it is", usage, load.Endpoints, err)
		}
	}
}
