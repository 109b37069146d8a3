package e2e

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pintle-dev/pintle/internal/harness"
)

// limiter is a rate limit service that counts hits by team. It says no once a team has used most.
type limiter struct {
	mu   sync.Mutex
	most uint64
	used map[string]uint64
}

// ServeHTTP implements http.Handler: envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit.
func (l *limiter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	message, _ := io.ReadAll(r.Body)
	team, hits := "", uint64(1)
	if len(message) > 5 {
		team, hits = readAsked(message[5:])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used[team] += hits
	code := byte(1) // OK
	if l.used[team] > l.most {
		code = 2 // OVER_LIMIT
	}
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, 2), 1<<3, code))
	w.Header().Set("Grpc-Status", "0")
}

func (l *limiter) usedBy(team string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used[team]
}

// fields calls each for every field of a message.
func fields(message []byte, each func(number protowire.Number, value []byte, n uint64)) {
	for len(message) > 0 {
		number, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return
		}
		message = message[size:]
		var value []byte
		var n uint64
		switch kind {
		case protowire.BytesType:
			value, size = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(message)
		default:
			size = protowire.ConsumeFieldValue(number, kind, message)
		}
		if size < 0 {
			return
		}
		message = message[size:]
		each(number, value, n)
	}
}

// readAsked reads a RateLimitRequest with one descriptor: the value of its entry, and hits_addend.
func readAsked(message []byte) (team string, hits uint64) {
	hits = 1
	fields(message, func(number protowire.Number, descriptor []byte, n uint64) {
		if number == 3 {
			hits = n
		}
		if number != 2 {
			return
		}
		fields(descriptor, func(number protowire.Number, part []byte, _ uint64) {
			fields(part, func(inner protowire.Number, value []byte, n uint64) {
				switch {
				case number == 1 && inner == 2:
					team = string(value)
				case number == 3 && inner == 1:
					hits = n
				}
			})
			if number == 3 && len(part) == 0 {
				hits = 0
			}
		})
	})
	return team, hits
}

// documentedLimits are the filters of docs/operations.md that hold a tenant back, whose buckets are not filled again.
func documentedLimits(t *testing.T) string {
	t.Helper()
	text := documented(t, "operations.md", "http_filters:\n", "- name: envoy.filters.http.local_ratelimit\n",
		"- name: pintle\n")
	return strings.ReplaceAll(text, "fill_interval: 1s", "fill_interval: 3600s")
}

// TestHoldingTenantsBack: the filters of docs/operations.md let a team have so many requests, and so many tokens as the
// servers report them, also of answers that Envoy compresses in front of Pintle; others are not held back by it.
func TestHoldingTenantsBack(t *testing.T) {
	t.Parallel()
	service, err := harness.NewScripted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	l := &limiter{most: 1000, used: map[string]uint64{}}
	service.Script(t, l.ServeHTTP)
	s := loadShipped(t, "envoy.yaml")
	s.text = strings.Replace(s.text, "          http_filters:\n",
		"          http_filters:\n"+documentedLimits(t)+compresses, 1)
	s.text = withCluster("ratelimit", service.Address)(s.text)
	s.text = strings.Replace(s.text, "  - name: ratelimit\n", `  - name: ratelimit
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
`, 1)
	s.start(t)
	s.publish(t, []harness.Endpoint{{Name: "sim-0", Address: s.servers[0].Address}})
	const requests = 20 // of the bucket
	for range requests {
		wantServer(t, s.chatOf(t, "quick", 1), "sim-0")
	}
	if got := s.chatOf(t, "quick", 1); got.Status != http.StatusTooManyRequests || got.Server() != "" {
		t.Errorf("request %d: got %d from %q, want 429 of Envoy", requests+1, got.Status, got.Server())
	}
	told := uint64(0)
	for told <= l.most {
		got := s.chatOf(t, "thirsty", 400)
		wantServer(t, got, "sim-0")
		var answer struct {
			Usage struct {
				Total uint64 `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(got.Body), &answer); err != nil || answer.Usage.Total == 0 {
			t.Fatalf("got %q, %v, want usage", got.Body, err)
		}
		told += answer.Usage.Total
		harness.WaitFor(t, 20*time.Second, fmt.Sprintf("%d tokens to be counted", told), func() (bool, string) {
			used := l.usedBy("thirsty")
			return used == told, fmt.Sprint(used)
		})
	}
	if got := s.chatOf(t, "thirsty", 1); got.Status != http.StatusTooManyRequests || got.Server() != "" {
		t.Errorf("after %d tokens: got %d from %q, want 429 of Envoy", told, got.Status, got.Server())
	}
	wantServer(t, s.chatOf(t, "modest", 1), "sim-0")
}

// chatOf has a team ask for so many tokens.
func (s *shipped) chatOf(t *testing.T, team string, tokens int) harness.Answer {
	t.Helper()
	request := harness.Request(t, http.MethodPost, "http://"+s.requests+chatPath, fmt.Sprintf(
		`{"model":"sim-model","messages":[{"role":"user","content":"hello"}],"max_tokens":%d}`, tokens), false)
	request.Header.Set("X-Team", team)
	request.Header.Set("Accept-Encoding", "gzip")
	got := harness.Send(t, harness.Client(t, false), request)
	got.Body = unzipped(t, got)
	return got
}
