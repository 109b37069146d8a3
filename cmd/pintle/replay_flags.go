package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/replay"
)

// replayOptions is what the flags of pintle replay say.
type replayOptions struct {
	configs []string
	trace   string
	output  string
	options replay.Options
	limits  replay.Limits
	// objectives has requests ask for the limits.
	objectives bool
	gateways   int
	given      map[string]bool
}

func (o *replayOptions) flags() *flag.FlagSet {
	o.given = map[string]bool{}
	s := &o.options.Servers
	f := command.NewFlags("pintle replay", "TRACE")
	f.Func("c", "a filter configuration, YAML or JSON; repeatable (required)", func(path string) error {
		o.configs = append(o.configs, path)
		return nil
	})
	f.StringVar(&o.output, "o", "text", "output: text, json, or html for a page with plots")
	f.Float64Var(&o.options.Scale, "scale", 1, "multiplies the rate of requests")
	f.IntVar(&o.gateways, "gateways", 1, "gateways, to any of which each request comes")
	o.options.Lag = defaultLag.Seconds()
	f.Func("lag", fmt.Sprintf("how much later each gateway knows of the others' requests, or never (default %v)",
		defaultLag), o.readLag)
	f.IntVar(&s.Count, "servers", s.Count, "number of servers; a recording's are its own unless this is given")
	f.Func("speeds", "how fast servers are, in their order, such as 0.35,0.35,1: a factor for each, 1 for those "+
		"that it does not name", o.readSpeeds)
	f.Uint64Var(&o.options.Seed, "seed", 1, "seed of random choices")
	limit := func(to *float64) func(string) error {
		return func(text string) error {
			d, err := time.ParseDuration(text)
			if err == nil && d <= 0 {
				err = errors.New("want a time above 0")
			}
			*to = d.Seconds()
			return err
		}
	}
	f.Func("slo-ttft", "the longest time to first token of a good answer, such as 500ms", limit(&o.limits.TTFT))
	f.Func("slo-tpot", "the longest time per output token of a good answer, such as 50ms", limit(&o.limits.TPOT))
	f.BoolVar(&o.objectives, "ask", false, "requests ask for -slo-ttft and -slo-tpot, by the headers "+
		"x-slo-ttft-ms and x-slo-tpot-ms")
	f.IntVar(&s.MaxRunning, "max-num-seqs", s.MaxRunning, "batch slots of a server")
	f.IntVar(&s.BlockTokens, "block-size", s.BlockTokens, "tokens in a block of KV cache")
	f.IntVar(&s.Blocks, "num-blocks", s.Blocks, "blocks of a server's KV cache")
	f.IntVar(&s.ReportedBlocks, "reported-blocks", 0, "blocks that servers' metrics tell of, 0 for all of them: an "+
		"engine that offloads its cache tells of those on its GPU alone")
	f.Float64Var(&s.PrefillTokensPerSecond, "prefill-tokens-per-second", s.PrefillTokensPerSecond,
		"speed of prefill of uncached prompt tokens")
	f.DurationVar(&s.TimePerOutputToken, "time-per-output-token", s.TimePerOutputToken,
		"pace of a request that runs alone; 0s is no time at all")
	f.Float64Var(&s.BatchSlowdown, "batch-slowdown", s.BatchSlowdown,
		"part of time-per-output-token that each further running request adds")
	f.Var((*namesFlag)(&s.Adapters), "lora", "LoRA adapter that requests are for, repeatable or a comma list")
	f.IntVar(&s.MaxAdapters, "max-lora", defaultMaxAdapters, "LoRA adapters that a server has loaded at once")
	f.DurationVar(&s.AdapterLoad, "lora-load", defaultAdapterLoad,
		"for how long a server processes no prompt while it loads an adapter that is not among those used last")
	return f
}

// What servers with adapters are like, unless flags say so.
const (
	defaultMaxAdapters = 4
	defaultAdapterLoad = 500 * time.Millisecond
)

// defaultLag is what replication takes on a quiet machine, or less.
const defaultLag = 50 * time.Millisecond

// readLag reads a time of 0 or more, or never.
func (o *replayOptions) readLag(text string) error {
	if text == "never" {
		o.options.Lag = -1
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q: want a time such as 250ms, or never", text)
	}
	o.options.Lag = d.Seconds()
	return nil
}

// readSpeeds reads a list of numbers above 0.
func (o *replayOptions) readSpeeds(text string) error {
	o.options.Speeds = nil
	for _, part := range strings.Split(text, ",") {
		speed, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(speed >= 0.001 && speed <= 1000) {
			return fmt.Errorf("%q: want 0.001 to 1000", part)
		}
		o.options.Speeds = append(o.options.Speeds, speed)
	}
	return nil
}

// mostGateways bounds how many states are kept.
const mostGateways = 64

func (o *replayOptions) check() error {
	s := &o.options.Servers
	switch {
	case len(o.configs) == 0:
		return errors.New("flag -c is missing: a filter configuration, YAML or JSON; repeatable (required)")
	case o.trace == "":
		return errors.New("the trace is missing: name a recording, or a file in Mooncake's or Azure's format")
	case o.output != "text" && o.output != "json" && o.output != "html":
		return fmt.Errorf("flag -o: %q is not text, json or html", o.output)
	case o.objectives && o.limits.TTFT == 0 && o.limits.TPOT == 0:
		return errors.New("flag -ask: there is nothing to ask for without -slo-ttft or -slo-tpot")
	case o.given["lag"] && o.gateways == 1:
		return errors.New("flag -lag: there is one gateway only; say how many there are with -gateways")
	case !(o.options.Scale >= 0.001 && o.options.Scale <= 1e6):
		return fmt.Errorf("flag -scale %v: want 0.001 to 1e6", o.options.Scale)
	case !(s.PrefillTokensPerSecond > 0 && s.PrefillTokensPerSecond <= 1e12):
		return fmt.Errorf("flag -prefill-tokens-per-second %v: want a number above 0, at most 1e12",
			s.PrefillTokensPerSecond)
	case len(s.Adapters) == 0 && (o.given["max-lora"] || o.given["lora-load"]):
		return errors.New("flags -max-lora and -lora-load: want -lora, too")
	case len(s.Adapters) > 1<<16:
		return fmt.Errorf("flag -lora: %d names, want at most %d", len(s.Adapters), 1<<16)
	case s.AdapterLoad < 0:
		return fmt.Errorf("flag -lora-load %v: want 0s or more", s.AdapterLoad)
	case s.TimePerOutputToken < 0:
		return fmt.Errorf("flag -time-per-output-token %v: want 0s or more", s.TimePerOutputToken)
	case !(s.BatchSlowdown >= 0 && s.BatchSlowdown <= 1e6):
		return fmt.Errorf("flag -batch-slowdown %v: want 0 to 1e6", s.BatchSlowdown)
	}
	if s.ReportedBlocks < 0 || s.ReportedBlocks > 1<<24 {
		return fmt.Errorf("flag -reported-blocks %d: want 0 to %d", s.ReportedBlocks, 1<<24)
	}
	if err := once(append(o.configs, o.trace)...); err != nil {
		return err
	}
	for _, n := range []struct {
		name      string
		got, most int
	}{
		{"gateways", o.gateways, mostGateways}, {"servers", s.Count, 4096}, {"max-num-seqs", s.MaxRunning, 1 << 20},
		{"block-size", s.BlockTokens, 1 << 16}, {"num-blocks", s.Blocks, 1 << 24},
		{"max-lora", s.MaxAdapters, 1 << 16},
	} {
		if n.got < 1 || n.got > n.most {
			return fmt.Errorf("flag -%s %d: want 1 to %d", n.name, n.got, n.most)
		}
	}
	return nil
}
