package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// elsewhere is what other gateways appended to the stream in a while, to be appended again as if they were on machines
// of their own.
type elsewhere struct {
	client  *redis.Client
	entries []redis.XMessage
	next    map[string]int // by stream
}

const (
	stream = "pintle"
	apart  = "apart" // one that nobody reads
)

// compareOne loads one gateway as much as it can, with what the others tell it at the rate of requests, and without.
// The others are not on this machine: what they tell was recorded before, and while the gateway is loaded that does
// without, it is told to nobody.
func compareOne(ctx context.Context, o options, folder string, valkey *harness.Valkey,
	servers []*harness.Server) (missed bool, err error) {
	e := &elsewhere{client: valkey.Client(), next: map[string]int{}}
	defer e.client.Close()
	if err := e.record(ctx, o, folder, valkey, servers); err != nil {
		return false, err
	}
	var fleets [2][]*gateway
	for i, redis := range []string{"", valkey.Address} {
		all, err := startGateways(1, folder, redis, asShipped, servers)
		if err != nil {
			return false, err
		}
		defer stopAll(all)
		fleets[i] = all
	}
	name := fmt.Sprintf("one Envoy alone on the machine, as much as it can; %d others elsewhere, %d requests/s",
		o.gateways-1, o.rate*(o.gateways-1)/o.gateways)
	s := shape{name: name, gateways: 1, meanwhile: e.repeat}
	rounds, err := s.measure(ctx, o, fleets, valkey.PID())
	if err != nil {
		return false, err
	}
	return s.write(o, rounds) < least, nil
}

// record keeps what all gateways but the first append at the rate of requests, for as long as rounds take.
func (e *elsewhere) record(ctx context.Context, o options, folder string, valkey *harness.Valkey,
	servers []*harness.Server) error {
	all, err := startGateways(o.gateways, folder, valkey.Address, asShipped, servers)
	if err != nil {
		return err
	}
	defer stopAll(all)
	limited, cancel := context.WithTimeout(ctx, o.each*time.Duration(o.rounds+4))
	defer cancel()
	if err := drive(limited, o, all); err != nil {
		return err
	}
	entries, err := e.client.XRange(ctx, stream, "-", "+").Result()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		text, _ := entry.Values["e"].(string)
		if !strings.Contains(text[:min(len(text), 64)], "gateway-0") {
			e.entries = append(e.entries, entry)
		}
	}
	return e.client.FlushAll(ctx).Err()
}

// repeat appends what comes next, at the pace at which it came, until ctx ends: to the stream that gateways read, or to
// another one.
func (e *elsewhere) repeat(ctx context.Context, heard bool) {
	to := apart
	if heard {
		to = stream
	}
	var began time.Time
	var first int64
	for ; e.next[to] < len(e.entries) && ctx.Err() == nil; e.next[to]++ {
		entry := &e.entries[e.next[to]]
		var at int64 // milliseconds
		if _, err := fmt.Sscanf(entry.ID, "%d-", &at); err != nil {
			return
		}
		if began.IsZero() {
			began, first = time.Now(), at
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(began.Add(time.Duration(at-first) * time.Millisecond))):
		}
		e.client.XAdd(ctx, &redis.XAddArgs{Stream: to, MaxLen: 20000, Approx: true,
			Values: []any{"e", entry.Values["e"]}})
	}
}

// instant are servers that take no time.
var instant = sim.Config{TimePerOutputToken: -1, PrefillTokensPerSecond: 1e9}
