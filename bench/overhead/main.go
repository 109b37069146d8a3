package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/internal/wrk"
)

const serverCount = 16

type options struct {
	rounds   int
	duration time.Duration
	// sizes of bodies in KB.
	sizes   []int
	streams bool
	// journal compares the filter with the journal on and off in place of Envoy with Pintle and without.
	journal bool
	// follow compares an Envoy whose journal is followed with one whose journal is not, and then loads it for as long
	// as last says.
	follow bool
	last   time.Duration
	// replicate compares an Envoy whose sidecar shares what it knows with another gateway with one whose sidecar only
	// follows it.
	replicate bool
	// elsewhere is of how many requests per second that gateway tells.
	elsewhere int
	// store compares the shipped configuration with itself and responses-store, and tells what a second turn takes;
	// redis is the URL of the store's Redis, empty for memory.
	store bool
	redis string
	// salts compares the shipped configuration with itself and tenant-cache-salt.
	salts bool
	// precise compares the approximate prefix scorer with exact prefix caches, which requests wait for or not.
	precise bool
	gap     time.Duration
	// instant has the servers answer without reading the request as a model server does.
	instant bool
	// fresh has each request be another one.
	fresh bool
	// bare has the filter choose by load alone, without prefixes, and keep no journal.
	bare bool
	// module is the .wasm file to measure; compare are further ones, which hold by pause.
	module  string
	compare []string
}

func main() { stack.Main("overhead", parseFlags, run) }

func parseFlags(args []string) (options, error) {
	o := options{sizes: []int{2, 16, 400}}
	var seconds float64
	f := flag.NewFlagSet("overhead", flag.ContinueOnError)
	f.IntVar(&o.rounds, "rounds", 5, "rounds for each body and Envoy")
	f.Float64Var(&seconds, "seconds", 3, "length of a round; whole seconds but for -follow, -replicate, -store "+
		"and -salts")
	f.Func("sizes", "sizes of bodies in KB, a comma list (default 2,16,400)", func(text string) (err error) {
		o.sizes, err = parseSizes(text)
		return err
	})
	f.BoolVar(&o.fresh, "new", false, "have each prompt be a new one, which nobody has in a cache, but with -stream "+
		"and what compares two Envoys")
	f.BoolVar(&o.bare, "bare", false, "measure the filter without prefix scorer and journal in place of the shipped "+
		"configuration, but with -stream and what compares two Envoys")
	f.BoolVar(&o.streams, "stream", false, "measure streamed answers instead")
	f.BoolVar(&o.journal, "journal", false, "measure what the journal costs the filter instead")
	f.BoolVar(&o.follow, "follow", false,
		"measure what it costs that the sidecar follows the journal instead, and whether it misses an event")
	f.DurationVar(&o.last, "last", 0, "with -follow: for how long the followed Envoy is loaded after the rounds")
	f.BoolVar(&o.replicate, "replicate", false, "measure what it costs that the sidecar shares what it knows with "+
		"another gateway instead")
	f.IntVar(&o.elsewhere, "elsewhere", 500, "with -replicate: of how many requests/s the other gateway tells")
	f.BoolVar(&o.store, "store", false,
		"measure what responses-store costs requests that do not need it instead, and what a second turn takes")
	f.BoolVar(&o.salts, "salts", false, "measure what tenant-cache-salt costs a request instead")
	f.StringVar(&o.redis, "redis", "", "with -store: the URL of the store's Redis; without one it is in memory")
	f.BoolVar(&o.precise, "precise", false,
		"measure what exact prefix caches add to a request instead; -rounds are requests of each kind")
	f.DurationVar(&o.gap, "gap", 6*time.Millisecond, "with -precise: for how long nothing is sent after a request")
	f.BoolVar(&o.instant, "instant", false,
		"have the servers discard requests unread, which makes Envoy's share the largest")
	f.StringVar(&o.module, "module", "bin/pintle.wasm", "the module to measure, from the repository's root")
	f.Func("compare", "a further module to measure beside, held by pause; repeatable", func(path string) error {
		o.compare = append(o.compare, path)
		return nil
	})
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.duration = time.Duration(seconds * float64(time.Second))
	if f.NArg() > 0 {
		return o, errors.New("want no arguments")
	}
	return o, errors.Join(o.check(), o.idle(f))
}

// idle is an error where a flag is given that has no effect beside the others.
func (o options) idle(f *flag.FlagSet) (err error) {
	wants := map[string]struct {
		flag string
		set  bool
	}{
		"last": {"follow", o.follow}, "elsewhere": {"replicate", o.replicate}, "redis": {"store", o.store},
		"gap": {"precise", o.precise},
	}
	f.Visit(func(given *flag.Flag) {
		if want, known := wants[given.Name]; known && !want.set {
			err = fmt.Errorf("-%s %v: want -%s, too", given.Name, given.Value, want.flag)
		}
	})
	switch {
	case err != nil:
	case len(o.compare) > 0 && (o.journal || o.paired()):
		err = errors.New("-compare: further modules are measured beside plain Envoy, and with -stream")
	case o.instant && o.streams:
		err = errors.New("-instant: -stream has servers of its own")
	}
	return err
}

func (o options) check() error {
	least := time.Second
	if o.paired() {
		least = 100 * time.Millisecond
	}
	switch {
	case o.rounds < 1 || o.duration < least:
		return fmt.Errorf("want -rounds of 1 or more, and -seconds of %v or more", least)
	case !o.paired() && !wrk.Takes(o.duration):
		return fmt.Errorf("-seconds %g: want whole seconds, as wrk measures no others", o.duration.Seconds())
	case o.elsewhere < 0:
		return fmt.Errorf("-elsewhere %d: want 0 or more", o.elsewhere)
	case o.last != 0 && !wrk.Takes(o.last):
		return fmt.Errorf("-last %v: want whole seconds, as wrk measures no others", o.last)
	}
	return o.oneThing()
}

// oneThing is an error where several things are to be measured in place of Pintle beside plain Envoy.
func (o options) oneThing() error {
	var asked []string
	for _, thing := range []struct {
		flag string
		set  bool
	}{
		{"-stream", o.streams}, {"-journal", o.journal}, {"-follow", o.follow}, {"-replicate", o.replicate},
		{"-store", o.store}, {"-salts", o.salts}, {"-precise", o.precise},
	} {
		if thing.set {
			asked = append(asked, thing.flag)
		}
	}
	if len(asked) > 1 {
		return fmt.Errorf("%s: want one of them, as each measures something else", strings.Join(asked, ", "))
	}
	return nil
}

// paired says that two Envoys are compared over connections that stay open.
func (o options) paired() bool { return o.follow || o.replicate || o.store || o.salts || o.precise }

// serverFlags are those of simulated servers that take no time but what reading and answering a request costs them.
func (o options) serverFlags() []string {
	if o.instant {
		return []string{"-instant"}
	}
	return []string{"-time-per-output-token", "0s", "-prefill-tokens-per-second", "1e12", "-num-blocks", "1000000"}
}

func parseSizes(text string) ([]int, error) {
	var sizes []int
	for part := range strings.SplitSeq(text, ",") {
		size, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || size < 1 || size > 30<<10 {
			return nil, fmt.Errorf("%q: want KB from 1 to %d", part, 30<<10)
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

func run(ctx context.Context, o options) error {
	if err := wrk.Check(); err != nil {
		return err
	}
	st, err := stack.New()
	if err != nil {
		return err
	}
	defer st.Close()
	measureAll := runRequests
	switch {
	case o.streams:
		measureAll = runStreams
	case o.precise:
		measureAll = runPrecise
	}
	// Where requests failed as a process has ended it is that which says why.
	return errors.Join(measureAll(ctx, o, st, os.Stdout, newProgress(os.Stderr)), st.Check())
}

// newProgress returns a function that shows one line on a terminal, and an empty one clears it. Elsewhere it shows
// nothing.
func newProgress(f *os.File) func(string) {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(string) {}
	}
	return func(text string) { fmt.Fprintf(f, "\r%s\x1b[K", text) }
}
