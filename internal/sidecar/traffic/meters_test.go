package traffic

import (
	"fmt"
	"strings"
	"testing"

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
