package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestPrefixIdentity: what keeps a server from using the cache of the same text, as another adapter does, keeps the
// prefix from matching.
func TestPrefixIdentity(t *testing.T) {
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		f.Publish(t, f.pool()...)
		prompt := strings.Repeat(fmt.Sprint(t.Name(), " ", time.Now().UnixNano(), " "), 50)
		matches := func(member string) bool {
			t.Helper()
			got := harness.Send(t, harness.Client(t, false), harness.Request(t, http.MethodPost,
				f.URL("prefix", "/v1/completions"),
				fmt.Sprintf(`{"model":"sim-model","max_tokens":1,%s"prompt":%q}`, member, prompt), false))
			wantAnyServer(t, got)
			var explanation struct{ Scores [][]any }
			text := got.Header.Get("X-Pintle-Explain")
			if err := json.Unmarshal([]byte(text), &explanation); err != nil || len(explanation.Scores) == 0 {
				t.Fatalf("x-pintle-explain: %v in %q, want scores", err, text)
			}
			for _, score := range explanation.Scores {
				if score[len(score)-1] != 0.0 {
					return true
				}
			}
			return false
		}
		for _, key := range []string{"lora_path", "cache_salt", "extra_key"} {
			first, other := fmt.Sprintf(`"%s":"a",`, key), fmt.Sprintf(`"%s":"b",`, key)
			if matches(first) || !matches(first) || matches(other) || !matches(first) || !matches(other) {
				t.Errorf("%s: a prompt matches what was asked for with another value, or not with its own", key)
			}
		}
	})
}

// TestBareDocument: a listener whose plug-in has nothing but an EndpointPickerConfig takes the snapshots of another
// one, and goes by what its plug-ins read of bodies.
func TestBareDocument(t *testing.T) {
	t.Parallel()
	const document = `{"plugins": [{"type": "session-affinity-scorer", "parameters": {"strategy": "consistent_hash",
		"sessionIdConfig": {"sources": [{"body": "prompt_cache_key"}]}}}]}`
	o := harness.Options{Edit: func(config string) string {
		head, rest, _ := strings.Cut(config, "stat_prefix: requests\n")
		before, after, _ := strings.Cut(rest, " value: ")
		_, after, _ = strings.Cut(after, "\n")
		return head + "stat_prefix: requests\n" + before + " value: " + strconv.Quote(document) + "\n" + after
	}}
	l := newLab(t, o, harness.Cell{Hold: "buffer", Destination: "original-dst"}, alone("queue-scorer"))
	l.LogOnFailure(t)
	l.Publish(t, l.endpoints()...)
	used := map[string]bool{}
	for key := range 8 {
		body := strings.Replace(chatBody, "{", fmt.Sprintf(`{"prompt_cache_key":"k%d",`, key), 1)
		first := l.exchange(t, "requests", body)
		for range 3 {
			if again := l.exchange(t, "requests", body); first.status != http.StatusOK || again != first {
				t.Errorf("session %d: got %v and then %v, want the same server", key, first, again)
			}
		}
		used[first.server] = true
	}
	if len(used) < 2 {
		t.Errorf("eight sessions went to %v alone, want several servers", used)
	}
}
