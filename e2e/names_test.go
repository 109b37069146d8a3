package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/journal"
)

// byUser needs to know who sent a request.
const byUser = `{"plugins": [{"type": "vtc-basic"}]}`

// TestNames: the names of the journal's numbers are told where the journal is, to who has the token: of models, users,
// profiles, reasons of refusals and fairness ids, each once with its hash, and behind them the endpoints.
func TestNames(t *testing.T) {
	want := map[journal.NameKind]string{
		journal.ModelName: "sim-model", journal.UserName: "somebody", journal.ProfileName: "default",
		journal.ReasonName: "invalid_body", journal.FairnessName: "a-tenant",
	}
	body := fmt.Sprintf(`{"model":%q,"user":%q,"max_tokens":2,"messages":[{"role":"user","content":"hello"}]}`,
		want[journal.ModelName], want[journal.UserName])
	inCells(t, func(t *testing.T, f *fixture) {
		followed(t, f.Envoy, &heard{open: map[uint32]journal.Event{}})
		client := harness.Client(t, false)
		var topology []byte
		harness.WaitFor(t, 10*time.Second, "all names", func() (bool, string) {
			f.sendTo(t, "users", chatPath, body, false, "x-llm-d-inference-fairness-id", want[journal.FairnessName])
			harness.Send(t, client, harness.Request(t, http.MethodPost, f.URL("users", chatPath), "nonsense", false))
			var told map[journal.NameKind]map[string]bool
			told, topology = f.names(t)
			return !missing(told, want), fmt.Sprint(told)
		})
		for _, s := range f.servers {
			if !bytes.Contains(topology, []byte(s.Name)) {
				t.Errorf("the topology %q has no %s", topology, s.Name)
			}
		}
		request := harness.Request(t, http.MethodGet, f.URL("ingest", "/pintle/v1/names"), "", false)
		request.Header.Set("authorization", "Bearer x")
		if got := harness.Send(t, client, request); got.Status != http.StatusUnauthorized {
			t.Errorf("with another token: got %d %q", got.Status, got.Body)
		}
	})
}

// TestNamesFromBeforeFollowing: whoever begins to follow finds names for what was decided before.
func TestNamesFromBeforeFollowing(t *testing.T) {
	body := `{"model":"sim-model","user":"early","max_tokens":2,"messages":[{"role":"user","content":"hello"}]}`
	inCells(t, func(t *testing.T, f *fixture) {
		f.sendTo(t, "users", chatPath, body, false)
		told, _ := f.names(t)
		want := map[journal.NameKind]string{
			journal.ModelName: "sim-model", journal.UserName: "early", journal.ProfileName: "default",
		}
		if missing(told, want) {
			t.Errorf("got %v, want %v", told, want)
		}
	})
}

func missing(told map[journal.NameKind]map[string]bool, want map[journal.NameKind]string) bool {
	for kind, name := range want {
		if !told[kind][name] {
			return true
		}
	}
	return false
}

// names asks for the names and the topology's record behind them.
func (f *fixture) names(t *testing.T) (told map[journal.NameKind]map[string]bool, topology []byte) {
	t.Helper()
	request := harness.Request(t, http.MethodGet, f.URL("ingest", "/pintle/v1/names"), "", false)
	request.Header.Set("authorization", bearer)
	got := harness.Send(t, harness.Client(t, false), request)
	if got.Status != http.StatusOK {
		t.Fatalf("got %d %q", got.Status, got.Body)
	}
	list, rest := cut(t, []byte(got.Body))
	topology, rest = cut(t, rest)
	if len(rest) > 0 {
		t.Errorf("%d bytes behind the topology", len(rest))
	}
	told = map[journal.NameKind]map[string]bool{}
	journal.ReadNames(list, func(kind journal.NameKind, hash uint64, name []byte) {
		if told[kind] == nil {
			told[kind] = map[string]bool{}
		}
		if told[kind][string(name)] || len(name) < journal.MaxNameBytes && hash != journal.HashName(string(name)) {
			t.Errorf("kind %d: %q is told twice, or with the hash of another: %d", kind, name, hash)
		}
		told[kind][string(name)] = true
	})
	return told, topology
}

// cut returns what stands behind its length in 4 bytes, and the rest.
func cut(t *testing.T, text []byte) (part, rest []byte) {
	t.Helper()
	if len(text) < 4 || int(binary.LittleEndian.Uint32(text)) > len(text)-4 {
		t.Fatalf("%d bytes are cut off", len(text))
	}
	n := 4 + binary.LittleEndian.Uint32(text)
	return text[4:n], text[n:]
}
