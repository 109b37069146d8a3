package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/stack"
)

type options struct {
	endpoints, kilobytes int
	warmUp, duration     time.Duration
	idle                 bool
	peer                 string
	peerArguments        []string
}

func main() { stack.Main("sidecar", parseFlags, run) }

func parseFlags(args []string) (o options, err error) {
	f := flag.NewFlagSet("sidecar", flag.ContinueOnError)
	f.IntVar(&o.endpoints, "endpoints", 100, "model servers")
	f.IntVar(&o.kilobytes, "kilobytes", 60, "size of a metrics page")
	f.DurationVar(&o.warmUp, "warm-up", 5*time.Second, "time before a measurement")
	f.DurationVar(&o.duration, "duration", 20*time.Second, "length of a measurement")
	f.BoolVar(&o.idle, "idle", false, "let the servers have no load")
	f.StringVar(&o.peer, "peer", "", "a `program` that is to scrape the same pages; its arguments follow --")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.peerArguments = f.Args()
	if o.endpoints < 1 || o.kilobytes < 1 || o.duration < time.Second || o.peer == "" && f.NArg() > 0 {
		return o, errors.New("want -endpoints and -kilobytes of 1 or more, -duration of 1s or more, and arguments " +
			"for a -peer only")
	}
	return o, nil
}

func run(ctx context.Context, o options) error {
	s, err := stack.New()
	if err != nil {
		return err
	}
	defer s.Close()
	first, err := stack.FreePorts(o.endpoints + 2)
	if err != nil {
		return err
	}
	ingestPort, adminPort := first+o.endpoints, first+o.endpoints+1
	load := 1
	if o.idle {
		load = 0
	}
	pages, err := start(first, o.endpoints, o.kilobytes, load)
	if err != nil {
		return err
	}
	defer pages.close()
	if !o.idle {
		go vary(ctx, pages, o.kilobytes)
	}
	in, err := listen(ingestPort, pages)
	if err != nil {
		return err
	}
	defer in.server.Close()
	fmt.Printf("%d servers, pages of %d KB, %v each\n\n", o.endpoints, o.kilobytes, o.duration)
	fmt.Println("program   scrapes/s/server   cores   us/scrape   RSS MB   posts/s   change to post p50, p99, never")

	endpoints := stack.Endpoints("e", first, o.endpoints)
	for i := range endpoints {
		endpoints[i].Name = fmt.Sprintf("e-%05d", i)
	}
	sidecar, err := s.Sidecar(ctx, "sidecar", stack.Sidecar{
		IngestPorts: []int{ingestPort}, Token: "bench", AdminPort: adminPort, Endpoints: endpoints,
	})
	if err != nil {
		return err
	}
	own, err := measure(ctx, "pintle", sidecar, pages, in, o)
	if err != nil || o.peer == "" {
		return err
	}
	sidecar.Stop()
	peer, err := startPeer(s, first, o)
	if err != nil {
		return err
	}
	other, err := measure(ctx, "peer", peer, pages, in, o)
	if err != nil {
		return err
	}
	beside, err := own.beside(other)
	if err == nil {
		fmt.Println("\n" + beside)
	}
	return err
}

// startPeer starts the program that is to scrape the same pages.
func startPeer(s *stack.Stack, first int, o options) (*stack.Process, error) {
	arguments := slices.Clone(o.peerArguments)
	for i := range arguments {
		arguments[i] = strings.ReplaceAll(arguments[i], "{ports}", fmt.Sprintf("%d-%d", first, first+o.endpoints-1))
	}
	return s.Start("peer", o.peer, arguments...)
}

// vary changes each server's load twice a second, at a moment of its own.
func vary(ctx context.Context, s *servers, kilobytes int) {
	rest := filler(kilobytes)
	pause := 500 * time.Millisecond / time.Duration(len(s.all))
	for waiting := 2; ctx.Err() == nil; waiting = waiting%1000 + 1 {
		for _, i := range rand.Perm(len(s.all)) {
			s.all[i].set(waiting, rest)
			time.Sleep(pause)
		}
	}
}

// cost is what a program took, with those that it has started.
type cost struct{ cores, scrapes float64 }

func (c cost) perScrape() float64 { return c.cores / c.scrapes }

// beside says what Pintle takes beside a peer.
func (c cost) beside(peer cost) (string, error) {
	switch {
	case peer.scrapes == 0:
		return "", errors.New("the peer scrapes nothing: want {ports} among its arguments")
	case peer.cores == 0:
		return "", errors.New("the peer takes no time")
	}
	return fmt.Sprintf("pintle takes %.3f of the peer's processor time, %.3f for each scrape", c.cores/peer.cores,
		c.perScrape()/peer.perScrape()), nil
}

func measure(ctx context.Context, name string, p *stack.Process, s *servers, in *ingest,
	o options) (c cost, err error) {
	if err := pause(ctx, o.warmUp); err != nil {
		return c, err
	}
	in.take()
	began, scrapes, overtaken := time.Now(), s.scrapes(), s.overtaken()
	before, _, err := p.Group()
	if err != nil {
		return c, err
	}
	if err := pause(ctx, o.duration); err != nil {
		return c, err
	}
	after, memory, err := p.Group()
	if err != nil {
		return c, err
	}
	took := time.Since(began).Seconds()
	posts, delays := in.take()
	overtaken = s.overtaken() - overtaken
	c = cost{cores: (after - before).Seconds() / took, scrapes: float64(s.scrapes()-scrapes) / took}
	line := fmt.Sprintf("%-8s  %16.1f   %5.3f   %9.0f   %6.0f", name, c.scrapes/float64(o.endpoints), c.cores,
		1e6*c.perScrape(), float64(memory)/(1<<20))
	if posts > 0 && len(delays) > 0 {
		slices.Sort(delays)
		at := func(percent int) time.Duration {
			return series.Percentile(delays, percent).Round(time.Millisecond)
		}
		line += fmt.Sprintf("   %7.1f   %v, %v, %d of %d", float64(posts)/took, at(50), at(99), overtaken,
			overtaken+len(delays))
	}
	fmt.Println(line)
	return c, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
