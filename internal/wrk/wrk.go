// Package wrk measures servers with the program wrk.
package wrk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// script has wrk post a file and tell its results as JSON. wrk counts a status of 400 or more as an error; latencies
// are microseconds.
const script = `local file = assert(io.open(%q, "rb"))
wrk.body = file:read("*a")
file:close()
wrk.method = "POST"
wrk.path = "/v1/chat/completions"
wrk.headers["content-type"] = "application/json"
%sfunction done(summary, latency)
  local e = summary.errors
  io.write(string.format('\nRESULT {"requests":%%d,"micros":%%d,"p50":%%d,"p99":%%d,"failures":%%d,"statuses":%%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.timeout, e.status))
end
`

// Result is what wrk says of a round.
type Result struct {
	// Requests are those that had an answer with a status below 400: whoever refuses at once is not quick.
	Requests int64
	Micros   int64
	// P50 and P99 are latencies of all answers, those that refuse among them, in microseconds.
	P50, P99 int64
	// Failures counts exchanges that broke, Statuses answers of 400 and more.
	Failures, Statuses int64
}

// PerSecond is the rate of requests.
func (r *Result) PerSecond() float64 { return float64(r.Requests) / (float64(r.Micros) / 1e6) }

// P50Millis is the median of latencies.
func (r *Result) P50Millis() float64 { return float64(r.P50) / 1000 }

// P99Millis is what 1 % of the latencies exceed.
func (r *Result) P99Millis() float64 { return float64(r.P99) / 1000 }

// ErrFailed is that of rounds in which some requests failed: what they measured of the others is there.
var ErrFailed = errors.New("requests failed")

// ErrNone is that of rounds in which no request was answered.
var ErrNone = errors.New("no request was answered")

// ErrMissing says that wrk is not installed.
var ErrMissing = errors.New("wrk is missing; build/setup.sh bench installs it")

// Check fails where wrk is not installed.
func Check() error {
	if _, err := exec.LookPath("wrk"); err != nil {
		return ErrMissing
	}
	return nil
}

// fresh has each request have a number of its own in the place of some bytes of the body.
const fresh = `local head, tail, number = wrk.body:sub(1, %d), wrk.body:sub(%d), os.time() * 1000000
request = function()
  number = number + 1
  return wrk.format(nil, nil, nil, head .. string.format("%%0%dd", number) .. tail)
end
`

// numberBytes is how long such a number is.
const numberBytes = 16

// FreshScript is Script, but that the first 16 bytes of place, which is part of the body, are another number in each
// request: no two of them are alike, of no two rounds either.
func FreshScript(dir, name string, body []byte, headers map[string]string, place string) (path string, err error) {
	at := bytes.Index(body, []byte(place))
	if at < 0 || len(place) < numberBytes {
		return "", fmt.Errorf("a body of %d bytes has no place %q of %d bytes or more", len(body), place, numberBytes)
	}
	return write(dir, name, body, linesOf(headers)+fmt.Sprintf(fresh, at, at+numberBytes+1, numberBytes))
}

// Script writes a body and the script that posts it with headers, and returns the script's path.
func Script(dir, name string, body []byte, headers map[string]string) (path string, err error) {
	return write(dir, name, body, linesOf(headers))
}

// linesOf are a script's lines that set headers.
func linesOf(headers map[string]string) string {
	var lines strings.Builder
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		fmt.Fprintf(&lines, "wrk.headers[%q] = %q\n", key, headers[key])
	}
	return lines.String()
}

func write(dir, name string, body []byte, lines string) (path string, err error) {
	bodyPath, path := filepath.Join(dir, name+".json"), filepath.Join(dir, name+".lua")
	if err := os.WriteFile(bodyPath, body, 0o600); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, fmt.Appendf(nil, script, bodyPath, lines), 0o600)
}

// Takes reports whether Run can take so long: wrk knows whole seconds alone.
func Takes(duration time.Duration) bool { return duration >= time.Second && duration%time.Second == 0 }

// Run posts by a script to a server at ip:port, one request after the other over each connection, for a time that wrk
// Takes. Any error in the exchanges is an error here, ErrFailed: figures with errors in them mean little.
func Run(ctx context.Context, script, address string, connections int, duration time.Duration) (*Result, error) {
	if !Takes(duration) {
		return nil, fmt.Errorf("wrk cannot measure for %v: want whole seconds", duration)
	}
	seconds := strconv.Itoa(int(duration / time.Second))
	command := exec.CommandContext(ctx, "wrk", "-t1", "-c"+strconv.Itoa(connections), "-d"+seconds+"s", "--timeout",
		"10s", "-s", script, "http://"+address)
	output, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("wrk: %w\n%s", err, output)
	}
	return parse(string(output))
}

func parse(output string) (*Result, error) {
	_, text, ok := strings.Cut(output, "\nRESULT ")
	if !ok {
		return nil, fmt.Errorf("no result in its output:\n%s", output)
	}
	text, _, _ = strings.Cut(text, "\n")
	var r Result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("its result %q: %w", text, err)
	}
	if r.Requests == 0 || r.Micros == 0 {
		return nil, ErrNone
	}
	if r.Failures+r.Statuses > 0 {
		err := fmt.Errorf("%w: %d exchanges broke and %d answers had a status of 400 or more, among %d", ErrFailed,
			r.Failures, r.Statuses, r.Requests)
		r.Requests -= r.Statuses
		return &r, err
	}
	return &r, nil
}
