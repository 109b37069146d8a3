package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestSimFlagMistakes(t *testing.T) {
	for _, test := range []struct{ name, args, want string }{
		{"zero slots", "-max-num-seqs 0", "flag -max-num-seqs 0: want a number above 0"},
		{"negative slots", "-max-num-seqs -4", "flag -max-num-seqs -4: want 1 to 1048576"},
		{"speed", "-speed -1", "flag -speed -1: want a number above 0"},
		{"pace", "-time-per-output-token -1s", "flag -time-per-output-token -1s: want 0s or more"},
		{"slowdown", "-batch-slowdown -1", "flag -batch-slowdown -1: want 0 or more"},
		{"count", "-count 0", "flag -count 0: want 1 to 4096"},
		{"address", "-address nowhere", `flag -address "nowhere": want host:port`},
		{"ports", "-address 127.0.0.1:65535 -count 2",
			`flag -address "127.0.0.1:65535": want a port such that 2 consecutive ones`},
		{"events", "-kv-events nowhere", `flag -kv-events "nowhere": want host:port`},
		{"events' ports", "-kv-events 127.0.0.1:65535 -count 2",
			`flag -kv-events "127.0.0.1:65535": want a port such that 2 consecutive ones`},
		{"replay", "-kv-events :1 -kv-events-replay :x", `flag -kv-events-replay ":x": want a port such that`},
		{"offload", "-offload-blocks -1", "flag -offload-blocks -1: want 0 to 16777216"},
		{"form", "-kv-events :1 -kv-events-form json", "flag -kv-events-form json: want map, array or sglang"},
		{"no rank", "-data-parallel-size 0", "flag -data-parallel-size 0: want a number above 0"},
		{"ranks", "-data-parallel-size 257", "flag -data-parallel-size 257: want 1 to 256"},
		{"ranks' ports", "-kv-events 127.0.0.1:65533 -count 2 -data-parallel-size 2",
			`flag -kv-events "127.0.0.1:65533": want a port such that 4 consecutive ones`},
		{"replay alone", "-kv-events-replay :1", "flag -kv-events-replay :1: want -kv-events, too"},
		{"form of no events", "-kv-events-form sglang", "flag -kv-events-form sglang: want -kv-events, too"},
		{"room for no adapters", "-max-lora 2", "flag -max-lora 2: want -lora, too"},
		{"a time to load none", "-lora-load 1s", "flag -lora-load 1s: want -lora, too"},
		{"a time that is none", "-lora a -lora-load -1s", "flag -lora-load -1s: want 0s or more"},
		{"events of no cache", "-kv-events :1 -instant", "flag -kv-events :1: an -instant server has no cache"},
		{"model twice", "-model a,b -model a", `flag -model "a": given twice among models and adapters`},
		{"empty model", "-model a,", `invalid value "a," for flag -model: want a name`},
		{"a time without a unit", "-time-per-output-token 5",
			`invalid value "5" for flag -time-per-output-token: want a time such as 500ms or 5s`},
		{"no number", "-count two", `invalid value "two" for flag -count: parse error`},
		{"unknown flag", "-max-nm-seqs 1", "flag provided but not defined: -max-nm-seqs"},
		{"argument", "serve", `argument "serve" is unknown; flags alone are right`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := runSim(strings.Fields(test.args), &stdout, &stderr)
			if code != 2 || !strings.HasPrefix(stderr.String(), "pintle sim: "+test.want) || stdout.Len() > 0 {
				t.Errorf("got exit code %d, %q, want 2, %q", code, stderr.String(), test.want)
			}
		})
	}
}

func TestSimHelp(t *testing.T) {
	var stdout bytes.Buffer
	if code := runSim([]string{"-h"}, &stdout, io.Discard); code != 0 ||
		!strings.Contains(stdout.String(), "-num-blocks") {
		t.Errorf("got exit code %d, %q, want 0 and the flags", code, stdout.String())
	}
}

func TestSimServers(t *testing.T) {
	flags, options := newSimFlags()
	if err := flags.Parse(strings.Fields("-address 127.0.0.1:0 -count 3 -name s -role decode -model m1,m2 -model m3 " +
		"-time-per-output-token 0s")); err != nil {
		t.Fatal(err)
	}
	if err := checkSimFlags(flags, options); err != nil {
		t.Fatal(err)
	}
	servers, err := newSimServers(*options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var served sync.WaitGroup
	served.Go(func() {
		if err := serveSims(ctx, servers, in); err != nil {
			t.Error(err)
		}
	})
	buffer := make([]byte, 1024)
	for _, name := range []string{"s-0", "s-1", "s-2"} {
		n, err := out.Read(buffer)
		got, address, ok := strings.Cut(strings.TrimSpace(string(buffer[:n])), " listens on ")
		if err != nil || !ok || got != name {
			t.Fatalf("line of %s: got %q, %v", name, buffer[:n], err)
		}
		client := http.Client{Timeout: time.Minute}
		response, err := client.Post("http://"+address+"/v1/completions", "",
			strings.NewReader(`{"model":"m3","prompt":"a"}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if h := response.Header; response.StatusCode != 200 || h.Get("x-sim-server") != name ||
			h.Get("x-sim-address") != address || h.Get("x-sim-role") != "decode" {
			t.Errorf("got status %d, headers %v", response.StatusCode, h)
		}
	}
	stop()
	served.Wait()
}

// TestSimEvents: each server publishes at a port of its own, and says at which one.
func TestSimEvents(t *testing.T) {
	servers, err := newSimServers(simOptions{address: "127.0.0.1:0", events: "127.0.0.1:0", replay: "127.0.0.1:0",
		count: 2})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var served sync.WaitGroup
	served.Go(func() {
		defer in.Close()
		if err := serveSims(ctx, servers, in); err != nil {
			t.Error(err)
		}
	})
	said := bufio.NewScanner(out)
	for range servers {
		var ports []string
		address := ""
		for _, what := range []string{" listens on ", " publishes KV events on ", " offers them again on "} {
			said.Scan()
			_, at, ok := strings.Cut(said.Text(), what)
			if !ok {
				t.Fatalf("got the line %q, want %q in it", said.Text(), what)
			}
			if address == "" {
				address = at
			}
			ports = append(ports, at[strings.LastIndexByte(at, ':'):])
		}
		response, err := http.Get("http://" + address + "/kv_event_sources")
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		want := `{"0":{"endpoint":"tcp://*` + ports[1] + `","publisher":"zmq","replay_endpoint":"tcp://*` + ports[2] + `"}}`
		if got := strings.TrimSpace(string(page)); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	stop()
	served.Wait()
}

func TestSimTakenPort(t *testing.T) {
	taken, err := newSimServers(simOptions{address: "127.0.0.1:0", count: 1})
	if err != nil {
		t.Fatal(err)
	}
	taken[0].address = "203.0.113.1:9"
	if err := serveSims(t.Context(), taken, io.Discard); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("listening on another machine's address: got %v, want an error", err)
	}
}
