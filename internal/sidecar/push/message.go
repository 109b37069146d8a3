package push

import (
	"math"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// encoder makes messages out of a pool's generation. Its memory is reused; one goroutine uses it.
type encoder struct {
	load     snapshot.Load
	adapters map[string]uint16
	indexes  []uint16
	size     int    // of the last message
	gpu      string // the attribute that tells of the GPU, empty for none
	values   []float64
}

// message encodes g as it is at now: the load, with the topology before it when full. Adapters beyond what one message
// can carry are left out.
func (e *encoder) message(g *pool.Generation, p snapshot.Position, full bool, now time.Time) ([]byte, error) {
	if e.adapters == nil {
		e.adapters = map[string]uint16{}
	}
	clear(e.adapters)
	e.indexes = e.indexes[:0]
	e.load.Topology = g.ID
	e.load.Endpoints = e.load.Endpoints[:0]
	e.load.Adapters = e.load.Adapters[:0]
	e.nameAttributes(g)
	room := topology.AdapterBytes - e.attributeBytes(len(g.Targets)) // they share it
	for _, t := range g.Targets {
		v := t.Now()
		entry := snapshot.EndpointLoad{
			WaitingRequests: v.Sample.WaitingRequests,
			RunningRequests: v.Sample.RunningRequests,
			KVCacheUsage:    usage(v.Sample.KVCacheUsage),
			AgeMillis:       ageMillis(v.Sampled, now),
			KVBlockTokens:   v.Sample.KVBlockTokens,
			KVBlocks:        v.Sample.KVBlocks,
			MaxLoRA:         v.Sample.MaxLoRA,
			MaxRunning:      v.Sample.MaxRunning,
			ProcessStart:    v.Sample.ProcessStart,
		}
		entry.Attributes = e.attributes(&v)
		entry.RunningLoRA = e.intern(v.Sample.RunningLoRA, &room)
		entry.WaitingLoRA = e.intern(v.Sample.WaitingLoRA, &room)
		e.load.Endpoints = append(e.load.Endpoints, entry)
	}
	body := make([]byte, 0, e.size+e.size/8+256)
	if full {
		var err error
		if body, err = snapshot.AppendTopology(body, g.Topology, p); err != nil {
			return nil, err
		}
	}
	body, err := snapshot.AppendLoad(body, &e.load, p)
	e.size = len(body)
	return body, err
}

// nameAttributes finds all attributes of the pool's engines, as far as a record has room for them.
func (e *encoder) nameAttributes(g *pool.Generation) {
	e.load.Attributes, e.values = e.load.Attributes[:0], e.values[:0]
	if e.gpu != "" {
		e.load.Attributes = append(e.load.Attributes, e.gpu)
	}
	most := min(snapshot.MaxAttributes, topology.AdapterBytes/(numberBytes*max(len(g.Targets), 1)))
	for _, t := range g.Targets {
		kind := t.Now().Kind
		if kind == nil {
			continue
		}
		for _, name := range kind.Attributes() {
			if len(e.load.Attributes) < most && !slices.Contains(e.load.Attributes, name) {
				e.load.Attributes = append(e.load.Attributes, name)
			}
		}
	}
	e.values = slices.Grow(e.values, len(e.load.Attributes)*len(g.Targets))
}

// numberBytes is what one attribute of one endpoint takes.
const numberBytes = 8

// attributeBytes is what the record's attributes take of so many endpoints.
func (e *encoder) attributeBytes(endpoints int) (bytes int) {
	for _, name := range e.load.Attributes {
		bytes += 2 + len(name) + numberBytes*endpoints
	}
	return bytes
}

// attributes are a target's values of the record's attributes.
func (e *encoder) attributes(v *pool.View) []float64 {
	start := len(e.values)
	for _, name := range e.load.Attributes {
		value := math.NaN()
		if name == e.gpu && v.GPUKnown {
			value = v.GPU
		} else if v.Kind != nil && !v.Sampled.IsZero() {
			if i := slices.Index(v.Kind.Attributes(), name); i >= 0 && v.Sample.AttributesKnown>>i&1 == 1 {
				value = v.Sample.Attributes[i]
			}
		}
		e.values = append(e.values, value)
	}
	return e.values[start:len(e.values):len(e.values)]
}

// intern returns the names' indexes into the load's adapters, and takes the bytes that they cost from room.
func (e *encoder) intern(names []string, room *int) []uint16 {
	start := len(e.indexes)
	for _, name := range names {
		index, known := e.adapters[name]
		cost := 2
		if !known {
			cost += 2 + len(name)
		}
		if cost > *room || !known && len(e.load.Adapters) == math.MaxUint16 {
			continue
		}
		*room -= cost
		if !known {
			index = uint16(len(e.load.Adapters))
			e.adapters[name] = index
			e.load.Adapters = append(e.load.Adapters, name)
		}
		e.indexes = append(e.indexes, index)
	}
	return e.indexes[start:len(e.indexes):len(e.indexes)]
}

// usage is f within what a record can tell, so that one server's nonsense does not keep all others' load from Envoy.
func usage(f float64) float64 {
	if !(f >= 0) {
		return 0
	}
	return min(f, 1)
}

func ageMillis(sampled, now time.Time) uint32 {
	if sampled.IsZero() {
		return snapshot.NoSample
	}
	age := max(now.Sub(sampled).Milliseconds(), 0)
	return uint32(min(age, int64(snapshot.NoSample)-1))
}
