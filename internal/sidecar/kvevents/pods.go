package kvevents

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

const rankInfix = "-rank-"

// cutRank takes NAME-rank-N apart, as endpoints are called of whose pods each rank has a port. Any other is the first
// rank of its own.
func cutRank(name string) (pod string, rank int) {
	if at := strings.LastIndex(name, rankInfix); at >= 0 {
		if n, err := strconv.Atoi(name[at+len(rankInfix):]); err == nil && n >= 0 && n < maxRanks {
			return name[:at], n
		}
	}
	return name, 0
}

// own is which ranks of its engine an endpoint has: all, or one where its pod has a port for each.
func (s *Subscriber) own(t *pool.Target, all map[int]source) map[int]source {
	_, rank := cutRank(t.Name)
	if src, said := all[rank]; said {
		if beside, _ := s.others(t); beside {
			return map[int]source{0: src}
		}
	}
	return all
}

// offset is by how much an endpoint's ports are above the configured ones: by its rank, unless there are others of its
// pod's name elsewhere. Pods are then themselves called as ranks are, such as those of a StatefulSet vllm-rank.
func (s *Subscriber) offset(t *pool.Target) int {
	if beside, elsewhere := s.others(t); elsewhere && !beside {
		return 0
	}
	_, rank := cutRank(t.Name)
	return rank
}

// others reports whether there are other ranks of the pod that an endpoint is named after at its own host, where those
// of a pod are, and elsewhere.
func (s *Subscriber) others(t *pool.Target) (beside, elsewhere bool) {
	pod, _ := cutRank(t.Name)
	host, _, _ := net.SplitHostPort(t.Address)
	for address, name := range *s.addresses.Load() {
		if other, _ := cutRank(name); name == t.Name || other != pod {
			continue
		}
		at, _, _ := net.SplitHostPort(address)
		beside, elsewhere = beside || at == host, elsewhere || at != host
	}
	return beside, elsewhere
}

// allowed reports whether the publisher of an endpoint may say in its topic that it is said. It may not be another
// one, unless that is of its own pod: an engine has one topic for all its ranks.
func (s *Subscriber) allowed(endpoint, said string) bool {
	owner, taken := (*s.addresses.Load())[said]
	if !taken || owner == endpoint {
		return true
	}
	pod, _ := cutRank(endpoint)
	other, _ := cutRank(owner)
	return pod == other
}

// rankOf is the publisher that a rank is of an endpoint: the first rank of another endpoint where each has a port, as
// they have the topic of the first one. The caller has locked the subscriber.
func (l *listener) rankOf(name string, rank int, address netip.Addr) kvindex.Publisher {
	pod, first := cutRank(name)
	if other := l.followed[pod+rankInfix+strconv.Itoa(rank)]; first == 0 && other != nil {
		if at, err := netip.ParseAddrPort(other.target.Address); err == nil && at.Addr().Unmap() == address {
			return kvindex.Publisher{Endpoint: other.target.Name}
		}
	}
	return kvindex.Publisher{Endpoint: name, Rank: rank}
}
