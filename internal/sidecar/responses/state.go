package responses

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// State is what a store has and has done since it began.
type State struct {
	// Entries and Bytes are what is in memory; missing where entries are elsewhere.
	Entries *int   `json:"entries,omitempty"`
	Bytes   *int64 `json:"bytes,omitempty"`
	// Stored are finished responses that were stored, NotStored those that were not.
	Stored    int64 `json:"stored"`
	NotStored int64 `json:"notStored"`
	// Tiers are where entries are looked for, in the order in which that is done.
	Tiers []TierState `json:"tiers"`
}

// TierState is what one tier has done.
type TierState struct {
	Name         string `json:"name"`
	Hits         int64  `json:"hits"`
	Misses       int64  `json:"misses"`
	Errors       int64  `json:"errors"`
	BytesRead    int64  `json:"bytesRead"`
	BytesWritten int64  `json:"bytesWritten"`
}

// Now is the state of the store, by its metrics.
func (s *Service) Now() *State {
	now := &State{}
	if s.metrics.size != nil {
		entries, bytes := s.metrics.size()
		now.Entries, now.Bytes = &entries, &bytes
	}
	each(s.metrics.writes, func(labels map[string]string, n int64) {
		if labels["result"] == "stored" {
			now.Stored += n
		} else {
			now.NotStored += n
		}
	})
	tiers := []string{s.tier}
	if _, ok := s.backend.(*tiered); ok {
		tiers = append(tiers, secondName)
	}
	for _, name := range tiers {
		now.Tiers = append(now.Tiers, s.metrics.tier(name))
	}
	return now
}

func (m *Metrics) tier(name string) TierState {
	t := TierState{Name: name}
	each(m.lookups, func(labels map[string]string, n int64) {
		if labels["tier"] == name {
			*map[string]*int64{"hit": &t.Hits, "miss": &t.Misses, "error": &t.Errors}[labels["result"]] = n
		}
	})
	each(m.bytes, func(labels map[string]string, n int64) {
		if labels["tier"] == name {
			*map[string]*int64{"read": &t.BytesRead, "written": &t.BytesWritten}[labels["direction"]] = n
		}
	})
	return t
}

// each calls do with each counter of a vector.
func each(counters *prometheus.CounterVec, do func(labels map[string]string, n int64)) {
	out := make(chan prometheus.Metric)
	go func() {
		counters.Collect(out)
		close(out)
	}()
	for metric := range out {
		var value dto.Metric
		if err := metric.Write(&value); err != nil {
			continue // no counter of ours fails to be written
		}
		labels := map[string]string{}
		for _, pair := range value.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		do(labels, int64(value.GetCounter().GetValue()))
	}
}
