// Package dns finds model servers by names that are looked up again and again: A, AAAA and SRV records, such as those
// of a headless Service.
package dns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// Pool is one name and what its records become.
type Pool struct {
	Name string
	// Type is A, AAAA or SRV.
	Type string
	// Port is that of every address; SRV records have their own.
	Port uint16
	// Interval is the time between two looks: records do not tell their lifetime here.
	Interval time.Duration
	// Server is the DNS server, ip:port. Empty is the system's.
	Server string
	// Engine, Labels and Models are those of every endpoint.
	Engine string
	Labels []snapshot.Label
	Models []string
	// Access is how they are asked.
	Access *topology.Access
}

// Discovery looks one pool's name up.
type Discovery struct{ Pool }

// timeout is how long a look may take. For each name Go's resolver waits 5 s for a server that is dead, unless the
// machine says otherwise, before it asks the next one.
const timeout = 20 * time.Second

// Name implements topology.Discovery.
func (d *Discovery) Name() string { return "discovery.dns " + d.Pool.Name }

// Run implements topology.Discovery. A name that has no records is a pool without endpoints, as a headless Service
// without ready pods has none; when no server answers, the last records stay.
func (d *Discovery) Run(ctx context.Context, emit func(part topology.Part, err error)) {
	last, failing := "none yet", false
	for ctx.Err() == nil {
		look, cancel := context.WithTimeout(ctx, timeout)
		endpoints, err := d.endpoints(look)
		cancel()
		if ctx.Err() != nil {
			return
		}
		// The words of an error differ each time, as they have ports in them; that it fails is told once.
		now := fmt.Sprint(endpoints)
		switch {
		case err != nil && !failing:
			emit(topology.Part{}, err)
		case err == nil && (failing || now != last):
			emit(topology.Part{Endpoints: endpoints, Pools: []string{d.pool()}}, nil)
			last = now
		}
		failing = err != nil
		pace.Sleep(ctx, pace.Jitter(d.Interval))
	}
}

// resolver returns one that goes on to the next name of a search list after a failure; a strict one fails.
func (d *Discovery) resolver(strict bool) *net.Resolver {
	r := &net.Resolver{PreferGo: true, StrictErrors: strict}
	if d.Server != "" {
		r.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, d.Server)
		}
	}
	return r
}

func (d *Discovery) endpoints(ctx context.Context) ([]topology.Endpoint, error) {
	found, err := d.look(ctx, d.resolver(false))
	if isNotFound(err) {
		// Of a search list one name that does not exist hides another's failure, which is no reason to empty the pool.
		found, err = d.look(ctx, d.resolver(true))
	}
	if isNotFound(err) {
		found, err = nil, nil
	}
	if failure := (*net.DNSError)(nil); d.Server != "" && errors.As(err, &failure) {
		failure.Server = d.Server // Go names the machine's own, which was not asked
	}
	slices.SortFunc(found, func(a, b topology.Endpoint) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(found, func(a, b topology.Endpoint) bool { return a.Name == b.Name }), err
}

func (d *Discovery) look(ctx context.Context, r *net.Resolver) ([]topology.Endpoint, error) {
	if d.Type == "SRV" {
		return d.ofServices(ctx, r)
	}
	return d.ofAddresses(ctx, r)
}

func isNotFound(err error) bool {
	var failure *net.DNSError
	return errors.As(err, &failure) && failure.IsNotFound
}

// ofAddresses names endpoints by the name and the address.
func (d *Discovery) ofAddresses(ctx context.Context, r *net.Resolver) (found []topology.Endpoint, err error) {
	network := "ip4"
	if d.Type == "AAAA" {
		network = "ip6"
	}
	addresses, err := r.LookupNetIP(ctx, network, d.Pool.Name)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		address := netip.AddrPortFrom(a.Unmap(), d.Port)
		found = append(found, d.endpoint(strings.TrimSuffix(d.Pool.Name, ".")+"/"+address.String(), address))
	}
	return found, nil
}

// ofServices names endpoints by the records' target and port: vllm-0.vllm.default.svc.cluster.local:8000. A target that
// has no address (yet) is left out; one that cannot be looked up makes the look fail.
func (d *Discovery) ofServices(ctx context.Context, r *net.Resolver) (found []topology.Endpoint, err error) {
	_, records, err := r.LookupSRV(ctx, "", "", d.Pool.Name)
	if err != nil {
		return nil, err
	}
	addresses, err := addressesOf(ctx, r, records)
	if err != nil {
		return nil, err
	}
	for i, record := range records {
		if addresses[i].IsValid() {
			found = append(found, d.endpoint(
				strings.TrimSuffix(record.Target, ".")+":"+strconv.Itoa(int(record.Port)),
				netip.AddrPortFrom(addresses[i], record.Port)))
		}
	}
	return found, nil
}

// together is how many targets are looked up at a time. One after another hundreds of them take longer than a look may.
const together = 16

// addressesOf returns the address of each record's target, the zero one for none, or the first failure.
func addressesOf(ctx context.Context, r *net.Resolver, records []*net.SRV) (addresses []netip.Addr, failure error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	addresses = make([]netip.Addr, len(records))
	var looks sync.WaitGroup
	var first sync.Once
	room := make(chan struct{}, together)
	for i, record := range records {
		room <- struct{}{}
		looks.Go(func() {
			defer func() { <-room }()
			address, err := addressOf(ctx, r, record.Target)
			if err != nil {
				first.Do(func() { failure = err; cancel() })
			}
			addresses[i] = address
		})
	}
	looks.Wait()
	return addresses, failure
}

// addressOf returns the least address of a target, of the first family that it has, or the zero one.
func addressOf(ctx context.Context, r *net.Resolver, target string) (netip.Addr, error) {
	addresses, err := r.LookupNetIP(ctx, "ip4", target)
	if isNotFound(err) {
		addresses, err = r.LookupNetIP(ctx, "ip6", target)
	}
	if isNotFound(err) || err == nil && len(addresses) == 0 {
		return netip.Addr{}, nil
	}
	if err != nil {
		return netip.Addr{}, err
	}
	return slices.MinFunc(addresses, netip.Addr.Compare).Unmap(), nil
}

// pool is what metrics call the endpoints.
func (d *Discovery) pool() string { return strings.TrimSuffix(d.Pool.Name, ".") }

func (d *Discovery) endpoint(name string, address netip.AddrPort) topology.Endpoint {
	return topology.Endpoint{
		Pool: d.pool(),
		Endpoint: snapshot.Endpoint{Name: name, Address: address.String(), Engine: d.Engine, Labels: d.Labels,
			Models: d.Models},
		Access: d.Access,
	}
}
