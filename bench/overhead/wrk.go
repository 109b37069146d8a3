package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// script has wrk post a file and tell its results as JSON. wrk counts a status of 400 or more as an error; latencies
// are microseconds.
const script = `local file = assert(io.open(%q, "rb"))
wrk.body = file:read("*a")
file:close()
wrk.method = "POST"
wrk.path = "/v1/chat/completions"
wrk.headers["content-type"] = "application/json"
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('\nRESULT {"requests":%%d,"micros":%%d,"p50":%%d,"p99":%%d,"failures":%%d,"statuses":%%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.timeout, e.status))
end
`

// measurement is one round of wrk against one Envoy.
type measurement struct {
	Requests int64
	Micros   int64
	// P50 and P99 are latencies in microseconds.
	P50, P99 int64
	// Failures counts exchanges that broke, Statuses answers of 400 and more.
	Failures, Statuses int64
	// cpu is what Envoy used meanwhile.
	cpu time.Duration
}

func (m *measurement) perSecond() float64 { return float64(m.Requests) / (float64(m.Micros) / 1e6) }

// cpuPerThousand is Envoy's processor seconds for 1,000 requests.
func (m *measurement) cpuPerThousand() float64 { return m.cpu.Seconds() / float64(m.Requests) * 1000 }

// writeScript writes a body and the script that posts it, and returns the script's path.
func writeScript(dir, name string, body []byte) (string, error) {
	bodyPath, scriptPath := filepath.Join(dir, name+".json"), filepath.Join(dir, name+".lua")
	if err := os.WriteFile(bodyPath, body, 0o600); err != nil {
		return "", err
	}
	return scriptPath, os.WriteFile(scriptPath, fmt.Appendf(nil, script, bodyPath), 0o600)
}

// measure runs wrk against an Envoy. Any error in the exchanges is an error here: figures with errors in them mean
// nothing.
func measure(ctx context.Context, v *variant, scriptPath string, connections int,
	duration time.Duration) (*measurement, error) {
	before, err := v.envoy.CPU()
	if err != nil {
		return nil, err
	}
	seconds := strconv.FormatFloat(max(duration.Seconds(), 1), 'f', 0, 64)
	command := exec.CommandContext(ctx, "wrk", "-t1", "-c"+strconv.Itoa(connections), "-d"+seconds+"s", "--timeout",
		"10s",
		"-s", scriptPath, "http://"+stack.Address(v.requestsPort))
	output, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("wrk against %s: %w\n%s", v.name, err, output)
	}
	after, err := v.envoy.CPU()
	if err != nil {
		return nil, err
	}
	m, err := parse(string(output))
	if err != nil {
		return nil, fmt.Errorf("wrk against %s: %w", v.name, err)
	}
	m.cpu = after - before
	return m, nil
}

func parse(output string) (*measurement, error) {
	_, text, ok := strings.Cut(output, "\nRESULT ")
	if !ok {
		return nil, fmt.Errorf("no result in its output:\n%s", output)
	}
	text, _, _ = strings.Cut(text, "\n")
	var m measurement
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, fmt.Errorf("its result %q: %w", text, err)
	}
	if m.Failures+m.Statuses > 0 {
		return nil, fmt.Errorf("%d exchanges broke and %d answers had a status of 400 or more, among %d", m.Failures,
			m.Statuses, m.Requests)
	}
	if m.Requests == 0 || m.Micros == 0 {
		return nil, fmt.Errorf("no request was answered")
	}
	return &m, nil
}
