package filters

import (
	"cmp"
	"slices"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

// mostRoles bounds how many roles a revision may need.
const mostRoles = 8

// revision is one revision of the endpoints.
type revision struct {
	name   string
	count  [mostRoles]int
	weight int
	// candidate is set when one of its endpoints may serve the request.
	candidate bool
}

// count finds the revisions, in the order of their names, how many endpoints of each role they have, with those that
// fail or without, and which have one that may serve the request.
func (s *disaggregatedsetRolloutScreener) count(c *scoring.Cycle, failing bool) {
	s.revisions = s.revisions[:0]
	for i := range c.Pool.Endpoints {
		e := &c.Pool.Endpoints[i]
		name, _ := e.Label(s.revisionKey)
		if name == "" {
			continue
		}
		at, known := s.find(name)
		if !known {
			s.revisions = slices.Insert(s.revisions, at, revision{name: name})
		}
		r := &s.revisions[at]
		r.candidate = r.candidate || c.Serves(e) && s.asked(c, e)
		role, _ := e.Label(s.roleKey)
		if k := slices.Index(s.roles, role); k >= 0 && s.inScope(e) && (failing || !c.Fails(e)) {
			r.count[k]++
		}
	}
}

func (s *disaggregatedsetRolloutScreener) find(name string) (at int, known bool) {
	return slices.BinarySearchFunc(s.revisions, name, func(r revision, name string) int {
		return cmp.Compare(r.name, name)
	})
}

func (s *disaggregatedsetRolloutScreener) inScope(e *scoring.Endpoint) bool {
	for i := range s.scope {
		if !s.scope[i].met(e) {
			return false
		}
	}
	return true
}

// weigh gives every revision that has all roles, with endpoints that fail or without, its weight, the others none.
func (s *disaggregatedsetRolloutScreener) weigh(c *scoring.Cycle, failing bool) {
	s.count(c, failing)
	totals := [mostRoles]int{}
	for i := range s.revisions {
		if r := &s.revisions[i]; r.whole(len(s.roles)) {
			for k := range s.roles {
				totals[k] += r.count[k]
			}
		}
	}
	dominant := 0
	for k := range s.roles {
		if totals[k] > totals[dominant] {
			dominant = k
		}
	}
	for i := range s.revisions {
		r := &s.revisions[i]
		switch {
		case !r.whole(len(s.roles)):
		case s.mode == modeMaxRole:
			r.weight = r.count[dominant]
		default:
			for k := range s.roles {
				r.weight += r.count[k]
			}
		}
	}
}

// anyWhole reports whether any revision has weight and an endpoint that may serve the request.
func (s *disaggregatedsetRolloutScreener) anyWhole() bool {
	for i := range s.revisions {
		if r := &s.revisions[i]; r.candidate && r.weight > 0 {
			return true
		}
	}
	return false
}

// whole reports whether a revision has an endpoint of each role.
func (r *revision) whole(roles int) bool { return !slices.Contains(r.count[:roles], 0) }

// choose returns a revision that has all roles and an endpoint that may serve the request, empty for none.
func (s *disaggregatedsetRolloutScreener) choose(c *scoring.Cycle) (name string) {
	total := 0
	for i := range s.revisions {
		if s.revisions[i].candidate {
			total += s.revisions[i].weight
		}
	}
	if total == 0 {
		return ""
	}
	at := 0
	if id := c.Request.Header(s.decision); id != "" {
		at = int(journal.HashName(id) % uint64(total))
	} else {
		at = c.Random.IntN(total)
	}
	for i := range s.revisions {
		if r := &s.revisions[i]; r.candidate {
			if at -= r.weight; at < 0 {
				return r.name
			}
		}
	}
	return ""
}
