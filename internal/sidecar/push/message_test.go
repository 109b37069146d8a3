package push

import (
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
