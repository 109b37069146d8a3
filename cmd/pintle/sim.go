package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sim"
)

// simOptions is what the flags of pintle sim say.
type simOptions struct {
	address string
	// events and replay are where the first server publishes KV events, and is asked for them again; empty is nowhere.
	events, replay string
	// form is how events are written.
	form   string
	count  int
	config sim.Config
}

// runSim serves simulated model servers until it gets SIGINT or SIGTERM. It returns the exit code: 2 for a wrong flag,
// 1 when a server cannot listen or fails.
func runSim(args []string, stdout, stderr io.Writer) int {
	flags, options := newSimFlags()
	if code, done := command.Parse(flags, args, stdout, stderr); done {
		return code
	}
	if err := checkSimFlags(flags, options); err != nil {
		return command.Fail(flags, stderr, 2, err)
	}
	servers, err := newSimServers(*options)
	if err != nil {
		return command.Fail(flags, stderr, 2, fmt.Errorf("flag -%w", err))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := serveSims(ctx, servers, stdout); err != nil {
		return command.Fail(flags, stderr, 1, err)
	}
	return 0
}

// namesFlag collects names from repeated flags and comma lists.
type namesFlag []string

func (n *namesFlag) String() string { return strings.Join(*n, ",") }

func (n *namesFlag) Set(value string) error {
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return errors.New("want a name or a comma list of names")
		}
		*n = append(*n, name)
	}
	return nil
}

func newSimFlags() (*flag.FlagSet, *simOptions) {
	o := &simOptions{}
	c := &o.config
	f := command.NewFlags("pintle sim")
	f.StringVar(&o.address, "address", "127.0.0.1:9101",
		"address of the first server, host:port; port 0 lets the system choose")
	addEventFlags(f, o)
	f.IntVar(&o.count, "count", 1, "number of independent servers, on consecutive ports")
	f.Var((*namesFlag)(&c.Models), "model",
		"model name, repeatable or a comma list; the first labels the metrics (default sim-model)")
	f.StringVar(&c.Name, "name", "sim", "name of the server; with -count N it becomes NAME-0 to NAME-(N-1)")
	f.StringVar(&c.Role, "role", "", "sent as x-sim-role in every response")
	f.IntVar(&c.MaxRunning, "max-num-seqs", 32, "batch slots")
	f.IntVar(&c.BlockTokens, "block-size", 16, "tokens in a block of KV cache")
	f.IntVar(&c.Blocks, "num-blocks", 8192, "blocks of KV cache; they also bound the context length")
	f.IntVar(&c.OffloadBlocks, "offload-blocks", 0,
		"evicted blocks that are kept in the CPU's memory, and loaded again in no time")
	f.IntVar(&c.Ranks, "data-parallel-size", 1,
		"data-parallel ranks of a server; each has -num-blocks and -offload-blocks of its own and publishes events of "+
			"its own; requests go to all in turn, or to that of their header x-data-parallel-rank")
	f.Float64Var(&c.PrefillTokensPerSecond, "prefill-tokens-per-second", 8000,
		"speed of prefill of uncached prompt tokens")
	f.DurationVar(&c.TimePerOutputToken, "time-per-output-token", 20*time.Millisecond,
		"pace of a request that runs alone; 0s is no time at all")
	f.Float64Var(&c.BatchSlowdown, "batch-slowdown", 0.01,
		"part of time-per-output-token that each further running request adds")
	f.IntVar(&c.OutputTokens, "output-tokens", 128, "length of an answer when the request sets no limit")
	f.IntVar(&c.StreamInterval, "stream-interval", 1, "tokens that share one streamed chunk, after the first")
	f.Float64Var(&c.Speed, "speed", 1, "divides every simulated duration")
	f.Var((*namesFlag)(&c.Adapters), "lora", "LoRA adapter, repeatable or a comma list")
	f.IntVar(&c.MaxAdapters, "max-lora", 4, "LoRA adapters that may run at once")
	f.DurationVar(&c.AdapterLoad, "lora-load", 0,
		"for how long no prompt is processed while an adapter is loaded that is not among those used last")
	f.IntVar(&c.MetricsPadding, "metrics-padding", 0, "kilobytes of other families on /metrics")
	f.BoolVar(&c.Instant, "instant", false, "answer every POST at once with a small fixed body")
	f.Uint64Var(&c.Seed, "seed", 0, "seed of the answers' text")
	return f, o
}

func addEventFlags(f *flag.FlagSet, o *simOptions) {
	f.StringVar(&o.events, "kv-events", "",
		"address, host:port, where the first server publishes what its cache stores and removes, as vLLM does by "+
			"ZeroMQ; further ranks, and then servers, take consecutive ports; blocks have -block-size tokens, "+
			"those of POST /tokenize")
	f.StringVar(&o.replay, "kv-events-replay", "",
		"address where the first server is asked for old events; faults of both are ordered by POST /sim/events "+
			`{"fault":"lose|skip|unknown|torn|clear|gone|restart|none","count":1}`)
	f.StringVar(&o.form, "kv-events-form", string(kvpub.Maps),
		"how events are written: map as vLLM does, array as it did before 0.12, or sglang, without adapters and salts")
}

// checkSimFlags refuses what the configuration would take for "default" and what only the command knows.
func checkSimFlags(f *flag.FlagSet, o *simOptions) error {
	if o.count < 1 || o.count > 4096 {
		return fmt.Errorf("flag -count %d: want 1 to 4096", o.count)
	}
	given := map[string]bool{}
	f.Visit(func(option *flag.Flag) { given[option.Name] = true })
	switch {
	case o.events == "" && given["kv-events-form"]:
		return fmt.Errorf("flag -kv-events-form %s: want -kv-events, too", o.form)
	case len(o.config.Adapters) == 0 && given["max-lora"]:
		return fmt.Errorf("flag -max-lora %d: want -lora, too", o.config.MaxAdapters)
	case len(o.config.Adapters) == 0 && given["lora-load"]:
		return fmt.Errorf("flag -lora-load %v: want -lora, too", o.config.AdapterLoad)
	case o.events == "" && o.replay != "":
		return fmt.Errorf("flag -kv-events-replay %s: want -kv-events, too", o.replay)
	case !slices.Contains(sim.EventForms, kvpub.Form(o.form)):
		return fmt.Errorf("flag -kv-events-form %s: want map, array or sglang", o.form)
	case o.events != "" && o.config.Instant:
		return fmt.Errorf("flag -kv-events %s: an -instant server has no cache to tell of", o.events)
	}
	var zero error
	f.VisitAll(func(option *flag.Flag) {
		switch option.Name {
		case "max-num-seqs", "block-size", "num-blocks", "prefill-tokens-per-second", "output-tokens",
			"stream-interval", "speed", "max-lora", "data-parallel-size":
			if v, err := strconv.ParseFloat(option.Value.String(), 64); err == nil && v == 0 {
				zero = fmt.Errorf("flag -%s %v: want a number above 0", option.Name, option.Value)
			}
		}
	})
	if o.config.TimePerOutputToken < 0 {
		return fmt.Errorf("flag -time-per-output-token %v: want 0s or more", o.config.TimePerOutputToken)
	}
	if o.config.BatchSlowdown < 0 {
		return fmt.Errorf("flag -batch-slowdown %v: want 0 or more", o.config.BatchSlowdown)
	}
	if o.config.TimePerOutputToken == 0 {
		o.config.TimePerOutputToken = -1
	}
	if o.config.BatchSlowdown == 0 {
		o.config.BatchSlowdown = -1
	}
	return zero
}

// simServer is a server and the address that it is to listen on.
type simServer struct {
	*sim.Server
	name, address string
	events        *sim.EventOptions // nil for none
}

// addresses are those of all servers, given that of the first, by the flag that says it. Each takes so many ports.
func (o *simOptions) addresses(flag, first string, ports int) ([]string, error) {
	all := make([]string, o.count)
	needed := o.count * ports
	if _, _, err := net.SplitHostPort(first); err != nil {
		return nil, fmt.Errorf("%s %q: want host:port", flag, first)
	}
	if _, err := sim.OffsetAddress(first, needed-1); err != nil {
		return nil, fmt.Errorf("%s %q: want a port such that %d consecutive ones end below 65536", flag, first, needed)
	}
	for i := range all {
		var err error
		if all[i], err = sim.OffsetAddress(first, i*ports); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func newSimServers(o simOptions) ([]simServer, error) {
	addresses, err := o.addresses("address", o.address, 1)
	if err != nil {
		return nil, err
	}
	ranks := max(o.config.Ranks, 1)
	var events, replay []string
	if o.events != "" {
		if events, err = o.addresses("kv-events", o.events, ranks); err != nil {
			return nil, err
		}
	}
	if o.replay != "" {
		if replay, err = o.addresses("kv-events-replay", o.replay, ranks); err != nil {
			return nil, err
		}
	}
	servers := make([]simServer, o.count)
	for i := range servers {
		config := o.config
		if o.count > 1 {
			config.Name = fmt.Sprintf("%s-%d", config.Name, i)
		}
		if !strings.HasSuffix(addresses[i], ":0") {
			config.Address = addresses[i]
		}
		server, err := sim.New(config)
		if err != nil {
			return nil, err
		}
		servers[i] = simServer{Server: server, name: config.Name, address: addresses[i]}
		if events != nil {
			servers[i].events = &sim.EventOptions{Address: events[i], Form: kvpub.Form(o.form)}
		}
		if replay != nil {
			servers[i].events.Replay = replay[i]
		}
	}
	return servers, nil
}

// listen has all servers listen and publish, or none.
func listen(servers []simServer) (listeners []net.Listener, err error) {
	defer func() {
		if err == nil {
			return
		}
		for _, l := range listeners {
			_ = l.Close()
		}
		for _, server := range servers {
			server.Close()
		}
	}()
	for _, server := range servers {
		l, err := net.Listen("tcp", server.address)
		if err != nil {
			return listeners, err
		}
		listeners = append(listeners, l)
		if server.events != nil {
			server.events.Endpoint = l.Addr().String()
			if err := server.PublishEvents(*server.events); err != nil {
				return listeners, err
			}
		}
	}
	return listeners, nil
}

// serveSims listens everywhere before it serves anywhere, so that a taken port is known at once.
func serveSims(ctx context.Context, servers []simServer, stdout io.Writer) error {
	listeners, err := listen(servers)
	if err != nil {
		return err
	}
	failed := make(chan error, len(servers))
	var running sync.WaitGroup
	for i, server := range servers {
		fmt.Fprintf(stdout, "%s listens on %s\n", server.name, listeners[i].Addr())
		sayEvents(stdout, server)
		running.Go(func() { failed <- server.Serve(listeners[i]) })
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	for _, server := range servers {
		server.Close()
	}
	running.Wait()
	return err
}

// sayEvents says where a server publishes events.
func sayEvents(stdout io.Writer, server simServer) {
	all := server.EventAddresses()
	for rank, at := range all {
		of := ""
		if len(all) > 1 {
			of = fmt.Sprintf(" of rank %d", rank)
		}
		fmt.Fprintf(stdout, "%s publishes KV events%s on %s\n", server.name, of, at.Events)
		if at.Replay != "" {
			fmt.Fprintf(stdout, "%s offers them again on %s\n", server.name, at.Replay)
		}
	}
}
