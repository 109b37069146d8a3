//go:build browser

package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/journal"
)

// gateway is an Envoy whose journal the test writes.
type gateway struct{ *harness.Gateway }

func (g gateway) name(kind journal.NameKind, name string) uint64 { return g.Name(kind, name) }

// request is one that the test has had.
type request struct {
	model, endpoint string
	code            uint16
	ttft            time.Duration
	cached          uint32
	cold, open      bool
	ended           journal.Ending
	steps           bool
	chains          []journal.Chain
}

// write journals a request that was decided on some time ago.
func (g gateway) write(ago time.Duration, q request) {
	now := time.Now().Add(-ago).UnixNano()
	d := journal.Event{
		Kind: journal.Decision, Time: now, Lease: g.NextLease(), Model: g.name(journal.ModelName,
			q.model), Primary: journal.EndpointID(q.endpoint),
		Profile: g.name(journal.ProfileName,
			"default"), Streamed: true, Cold: q.cold, Predicted: true, PredictedTokens: q.cached, PromptBytes: 8000,
		User: g.name(journal.UserName, "secret-user"),
	}
	d.Asked = d.Model
	if q.steps {
		d.Steps = g.steps()
	}
	d.Chains = q.chains
	g.Append(&d)
	if q.open {
		return
	}
	c := d
	c.Kind, c.Time, c.Code, c.Status, c.Ended, c.Steps = journal.Completion, now+int64(2*q.ttft), q.code, q.code,
		q.ended, nil
	c.Chains = nil
	c.TTFTMicros, c.DurationMicros = uint32(q.ttft.Microseconds()), uint32(2*q.ttft.Microseconds())
	if q.code == 200 {
		c.UsageReported, c.CachedReported, c.InputTokens, c.OutputTokens, c.CachedTokens = true, true, 2000, 120,
			q.cached
	}
	g.Append(&c)
}

// steps are those of a decision between three endpoints.
func (g gateway) steps() []byte {
	var w journal.StepsWriter
	w.Reset(3)
	id := func(i int) uint64 { return journal.EndpointID(fmt.Sprint("default/vllm-", i)) }
	w.Profile(g.name(journal.ProfileName, "default"))
	w.Removed(g.name(journal.PluginName, "failing"), 2, id(2))
	for i, score := range []float64{0.25, 0.75} {
		w.Scored(g.name(journal.PluginName, "queue-scorer"), i, id(i), score)
	}
	for i, score := range []float64{1, 0} {
		w.Scored(g.name(journal.PluginName, "prefix-cache-scorer"), i, id(i), score)
	}
	w.Total(0, id(0), 3.5)
	w.Total(1, id(1), 1.5)
	w.Picked(0, id(0))
	return w.Bytes()
}

func TestDecisionsPage(t *testing.T) {
	g := gateway{harness.NewGateway(t)}
	var endpoints strings.Builder
	for i := range 3 {
		server := modelServer(t, func() string { return page(int64(3*i), "0.42") })
		fmt.Fprintf(&endpoints, "{name: 'default/vllm-%d', address: '%s', models: [llama-3.1-8b]},", i, server)
	}
	model, other := "llama-3.1-8b", "<b>qwen</b>"
	if os.Getenv("SCREENSHOT") != "" {
		other = "qwen-2.5-7b" // easier on the eye
	}
	for i := range 170 {
		q := request{model: model, endpoint: fmt.Sprint("default/vllm-", i%2), code: 200,
			ttft: time.Duration(80+i%9*7) * time.Millisecond, cached: uint32(1000 + i%3*300),
			ended: journal.EndedWhole}
		g.write(time.Duration(170-i)*5*time.Second, q)
	}
	g.write(4*time.Second, request{model: model, endpoint: "default/vllm-1", code: 200, ttft: 5 * time.Second,
		cold: true, ended: journal.EndedWhole})
	g.write(3*time.Second, request{model: model, endpoint: "default/vllm-2", code: 503, ended: journal.EndedUnreached,
		steps: true})
	g.write(2*time.Second, request{model: other, endpoint: "default/vllm-0", code: 200, ttft: 90 * time.Millisecond,
		cached: 1600, ended: journal.EndedWhole, steps: true,
		chains: []journal.Chain{{ID: 256, Blocks: []uint64{1, 2, 3}}}})
	g.write(time.Second, request{model: model, endpoint: "default/vllm-0", open: true})
	g.Append(&journal.Event{Kind: journal.Refused, Time: time.Now().UnixNano(), Code: 429,
		Reason:   g.name(journal.ReasonName, "shed"),
		Shadowed: journal.Shadowed{Decided: true, Primary: journal.EndpointID("default/vllm-1")}})
	admin := start(t, g.URL, endpoints.String(), "follow: {prefixes: true}")
	c := startChromium(t)
	c.open("http://" + admin + "/")
	const list = `document.querySelector("#decisions").innerText`
	has := func(parts ...string) func(string) bool {
		return func(got string) bool {
			for _, part := range parts {
				if !strings.Contains(got, part) {
					return false
				}
			}
			return true
		}
	}
	c.await("the decisions", list, has("429", "shed", "in flight", "503", "not reached", "5.00 s", "cold",
		"1600 (1600 predicted)", other, "shadow: default/vllm-1"))
	c.await("the blocks held", `[...document.querySelectorAll("#endpoints .held")].map(e => e.offsetWidth > 0 ? `+
		`e.textContent : "hidden").join("|")`, func(got string) bool { return got == "3|0|0" })
	c.await("the plots", `[...document.querySelectorAll("#plots figcaption")].map(f => f.textContent).join("\n")`,
		has("requests each second", "time to first token, up to 5", "found in caches, up to 80 %",
			"in flight, up to 1.00", "waiting, up to 6.00"))
	choose := func(name, value string) {
		c.text(
			fmt.Sprintf(
				`(() => { const e = document.querySelector("#filters").elements[%q]; if (e.type === "checkbox") e.checked = %q === "on"; else e.value = %q;
			e.dispatchEvent(new Event("input", {bubbles: true})); return ""; })()`, name, value, value))
	}
	lines := func(n int) func(string) bool {
		return func(got string) bool { return len(strings.Split(strings.TrimSpace(got), "\n")) == n }
	}
	for _, filter := range []struct {
		name, value, none string
		rows              int
	}{
		{"status", "bad", "", 2}, {"status", "open", "", 1}, {"status", "429", "", 1}, {"endpoint", "default/vllm-2",
			"", 1}, {"model", other, "", 1},
		{"cold", "on", "off", 1}, {"explained", "on", "off", 2},
	} {
		choose(filter.name, filter.value)
		c.await("the filter "+filter.name+" "+filter.value, list, lines(filter.rows))
		choose(filter.name, filter.none)
	}
	choose("slow", "on")
	c.await("the slow ones", list, func(got string) bool {
		return strings.Contains(got, "5.00 s") &&
			!strings.Contains(got, " 80 ms")
	})
	choose("slow", "off")
	choose("explained", "on")
	c.await("the click", `(() => { document.querySelector("#decisions tr[data-id]").click(); return "clicked"; })()`,
		has("clicked"))
	c.await("the steps", list, has("profile default", "queue-scorer", "prefix-cache-scorer", "default/vllm-0", "3.5000",
		"0.2500", "picked 1", "removed by failing"))
	g.write(0, request{model: model, endpoint: "default/vllm-1", code: 200, ttft: 111 * time.Millisecond,
		ended: journal.EndedWhole, steps: true})
	c.await("a decision without a reload", list, has("111 ms"))
	if text := c.text("document.documentElement.outerHTML"); strings.Contains(text, "secret-user") {
		t.Error("got the user in the page, want it nowhere")
	}
	c.wantNothingFromElsewhere(admin)
	if path := os.Getenv("SCREENSHOT"); path != "" {
		choose("explained", "off")
		c.text(
			`(() => { [...document.querySelectorAll("#decisions tr[data-id]")].find(tr => tr.cells[3].textContent === "503").click(); return ""; })()`)
		c.await("the steps of the failure", list, has("not reached, stream, explained\n"))
		c.await("the steps of the failure", list, has("picked 1"))
		c.text(`(() => { document.querySelector("#plots").parentElement.scrollIntoView(); return ""; })()`)
		savePicture(t, strings.TrimSuffix(path, ".png")+"-decisions.png", c.screenshot())
	}
}
