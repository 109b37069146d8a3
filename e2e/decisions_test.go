package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	status "github.com/pintle-dev/pintle/internal/sidecar/traffic"
)

// secretBody is a request of which nothing but the model may be told.
const secretBody = `{"model":"sim-model","user":"mallory","messages":[{"role":"user","content":"a secret"}],"max_tokens":2}`

// decisions is the sidecar's part that the status page shows decisions from. It also hears of what earlier tests did.
type decisions struct {
	*status.Traffic
	*fixture
}

// until asks until a request is decided as wanted, and returns how. Workers look every second whether they are
// followed, and what followers want; before, nothing is told.
func (d *decisions) until(t *testing.T, listener, what string, wanted func(x *status.Explained) bool) status.Explained {
	t.Helper()
	last := "nothing"
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		found, told := d.ask(t, listener)
		if told && wanted(&found) {
			return found
		}
		last = fmt.Sprintf("told %v: %+v", told, found)
	}
	t.Fatalf("no request is %s; last seen: %s", what, last)
	return status.Explained{}
}

// ask sends a request and returns how it was decided; told is false when that is not told soon.
func (d *decisions) ask(t *testing.T, listener string) (found status.Explained, told bool) {
	t.Helper()
	began := time.Now()
	harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, d.URL(listener, chatPath), secretBody, false))
	for end := began.Add(time.Second); !told && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, listed := range d.Decisions(0).Decisions {
			if listed.Time.After(began) && listed.Status != "" {
				found, told = d.Decision(listed.ID)
			}
		}
	}
	text, err := json.Marshal(found)
	if err != nil || strings.Contains(string(text), "mallory") || strings.Contains(string(text), "secret") {
		t.Errorf("the request's own words are told: %s, %v", text, err)
	}
	return found, told
}

// byCommand is what pintle explain says of the request, for endpoints with these queues.
func byCommand(t *testing.T, waiting map[string]int) (profile status.ExplainedProfile) {
	t.Helper()
	dir := t.TempDir()
	document, err := json.Marshal(harness.Document(1))
	if err != nil {
		t.Fatal(err)
	}
	endpoints, n := "endpoints:\n", 0
	for name, queue := range waiting {
		n++
		endpoints += fmt.Sprintf("- {name: %s, address: '127.0.0.1:%d', metrics: {waiting: %d}}\n", name, n, queue)
	}
	for name, text := range map[string]string{"c.json": string(document), "e.yaml": endpoints, "r.json": secretBody} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary, err := harness.Built("pintle")
	if err != nil {
		t.Fatal(err)
	}
	text, err := harness.Output(nil, "", binary, "explain", "-o", "json", "-c", filepath.Join(dir, "c.json"), "-e",
		filepath.Join(dir, "e.yaml"), "-r", filepath.Join(dir, "r.json"))
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Profiles map[string]status.ExplainedProfile `json:"profiles"`
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return said.Profiles["default"]
}

// TestDecisionsAreExplained: what the status page shows of a sampled decision is what pintle explain says of it; of
// refusals and failures it shows as much though none is sampled.
func TestDecisionsAreExplained(t *testing.T) {
	f, err := fixtures[harness.Cell{Hold: "pause", Destination: "original-dst"}]()
	if err != nil {
		t.Fatal(err)
	}
	f.LogOnFailure(t)
	f.prefer(t, "sim-0")
	waiting := map[string]int{}
	for _, e := range f.pool("sim-0") {
		waiting[e.Name] = int(e.Waiting)
	}
	told := status.New(status.Options{})
	told.SetEndpoints([]string{"sim-0", "sim-1", "sim-2", "sim-3"})
	d := &decisions{Traffic: told, fixture: f}
	_, stop := followedBy(t, f.Envoy, harness.Token, told, 1)

	explained := func(x *status.Explained) bool { return x.Explained }
	sampled := d.until(t, "requests", "explained", explained)
	want := byCommand(t, waiting)
	if len(sampled.Profiles) != 1 {
		t.Fatalf("got %+v, want one profile", sampled)
	}
	got := sampled.Profiles[0]
	if got.Name != "default" || !slices.Equal(got.Scorers, []string{"queue-scorer"}) ||
		!reflect.DeepEqual(got.Scores, want.Scores) || !reflect.DeepEqual(got.Totals, want.Totals) ||
		!slices.Equal(got.Picked, want.Picked) || len(want.Scores["queue-scorer"]) != len(waiting) {
		t.Errorf("got %+v, pintle explain says %+v", got, want)
	}
	stop()
	followedBy(t, f.Envoy, harness.Token, told, 1e-6)
	d.until(t, "requests", "left unexplained", func(x *status.Explained) bool { return !x.Explained })
	refused := d.until(t, "nobody", "explained", explained)
	if refused.Reason != "filtered_out" || len(refused.Profiles) != 1 ||
		refused.Profiles[0].FilteredOut["sim-3"] != "by-label" || len(refused.Profiles[0].FilteredOut) != 4 {
		t.Errorf("got %+v, want a refusal with what removed each endpoint", refused)
	}
	f.Publish(t, harness.Endpoint{Name: "gone", Address: f.dead[0]})
	failed := d.until(t, "requests", "explained", explained)
	if failed.Status != "503" || failed.Ended != "unreached" || len(failed.Profiles) != 1 ||
		failed.Profiles[0].Scores["queue-scorer"]["gone"] != 1 {
		t.Errorf("got %+v, want a failure with its scores", failed)
	}
}
