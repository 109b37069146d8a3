package openai

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestScanDoesNotAllocate(t *testing.T) {
	r := new(Request)
	for _, body := range append(seedBodies, string(benchBodies[3].body)) {
		raw := []byte(body)
		for api := APINone; api <= APIGenerate; api++ {
			if n := testing.AllocsPerRun(5, func() { _ = r.Scan(api, raw) }); n != 0 {
				t.Errorf("%s, %.60q: got %v allocations, want none", api, body, n)
			}
		}
	}
}

// hostile bodies are built to make a careless scanner quadratic or deep.
var hostile = []struct {
	name  string
	build func(n int) string
}{
	{"backslashes", func(n int) string { return `{"a":"` + strings.Repeat(`\\`, n/2) }},
	{"escaped quotes", func(n int) string { return `{"prompt":"` + strings.Repeat(`\"`, n/2) + `"}` }},
	{"brackets", func(n int) string { return `{"a":` + strings.Repeat(`[`, n) }},
	{"flat arrays", func(n int) string { return `{"a":[` + strings.Repeat(`[],`, n/3) + `1]}` }},
	{"keys", func(n int) string { return `{` + strings.Repeat(`"a":`, n/4) }},
	{"objects", func(n int) string { return strings.Repeat(`{"a":`, n/5) }},
	{"high surrogates", func(n int) string { return `{"prompt":"` + strings.Repeat(`\ud800`, n/6) + `"}` }},
	{"low surrogates", func(n int) string { return `{"prompt":"` + strings.Repeat(`\udc00`, n/6) + `"}` }},
	{"digits", func(n int) string { return `{"max_tokens":` + strings.Repeat(`9`, n) + `}` }},
	{"white space", func(n int) string { return strings.Repeat(" ", n) + `{}` }},
	{"duplicate messages", func(n int) string {
		return `{` + strings.Repeat(`"messages":[{"content":"a","content":"b"}],`, n/43) + `"a":1}`
	}},
	{"alternating duplicates", func(n int) string {
		parts := strings.Repeat(`"a",`, 3000)
		return `{"messages":[{"tool_calls":[1],"content":[` + parts + `"b"],` +
			strings.Repeat(`"tool_calls":[1],`, n/17) + `"x":1}]}`
	}},
	{"one-character parts",
		func(n int) string { return `{"messages":[{"content":[` + strings.Repeat(`"a",`, n/4) + `""]}]}` }},
	{"tokens", func(n int) string { return `{"prompt":[` + strings.Repeat(`1,`, n/2) + `1]}` }},
	{"long names", func(n int) string { return `{"user":"` + strings.Repeat(`\u6f22`, n/6) + `"}` }},
}

// TestHostileBodiesTakeLinearTime compares the cost per byte of a short and a 16 times longer body: it stays about
// equal, where quadratic work would make it 16 times as much. It counts the thread's processor time, so that a machine
// with other work disturbs nothing but its caches.
func TestHostileBodiesTakeLinearTime(t *testing.T) {
	const short, long, attempts = 64 << 10, 1 << 20, 5
	r := new(Request)
	perByte := func(api API, body []byte) float64 {
		best := time.Hour
		for range 7 {
			start := processorTime(t)
			_ = r.Scan(api, body)
			best = min(best, processorTime(t)-start)
		}
		return float64(best+time.Microsecond) / float64(len(body))
	}
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			a, b := []byte(c.build(short)), []byte(c.build(long))
			for _, api := range []API{APIChat, APICompletions} {
				for attempt := 1; ; attempt++ {
					before, after := perByte(api, a), perByte(api, b)
					if after <= 6*before {
						break
					}
					if attempt == attempts {
						t.Fatalf("%s: %.2f ns/byte for 64 KB, %.2f ns/byte for 1 MB", api, before, after)
					}
				}
			}
		})
	}
}

// processorTime is what the calling thread has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Nano())
}

func TestHostileBodiesDoNotAllocate(t *testing.T) {
	r := new(Request)
	for _, c := range hostile {
		body := []byte(c.build(1 << 20))
		if n := testing.AllocsPerRun(1, func() { _ = r.Scan(APIChat, body) }); n != 0 {
			t.Errorf("%s: got %v allocations, want none", c.name, n)
		}
	}
}
