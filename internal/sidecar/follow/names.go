package follow

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/snapshot"
)

// Other stands for names that are not known, as there are too many.
const Other = "other"

// Names are what hashes stand for. Safe for concurrent use: they are replaced as a whole, so that who asks, for each
// event several times, locks nothing.
type Names struct {
	writing sync.Mutex
	table   atomic.Pointer[nameTable]
}

// nameTable never changes once it is the Names'.
type nameTable struct {
	names     map[nameKey]string
	endpoints map[uint64]string
}

type nameKey struct {
	kind journal.NameKind
	hash uint64
}

var noNames nameTable

// now is the table as it is.
func (n *Names) now() *nameTable {
	if t := n.table.Load(); t != nil {
		return t
	}
	return &noNames
}

// change replaces the table by a changed copy.
func (n *Names) change(by func(t *nameTable)) {
	n.writing.Lock()
	defer n.writing.Unlock()
	next := &nameTable{names: map[nameKey]string{}, endpoints: map[uint64]string{}}
	maps.Copy(next.names, n.now().names)
	maps.Copy(next.endpoints, n.now().endpoints)
	by(next)
	n.table.Store(next)
}

const (
	// mostEndpoints bounds how many names of endpoints are known; beyond it those that are gone are forgotten.
	mostEndpoints = 1 << 14
	// mostNames bounds the other names, of which a process of Envoy tells at most journal.MaxNames of a kind; beyond it
	// those of former processes are forgotten.
	mostNames = 1 << 13
)

// Of returns a name, empty for the hash 0, and Other for one that is not known.
func (n *Names) Of(kind journal.NameKind, hash uint64) string {
	if hash == 0 {
		return ""
	}
	if name, ok := n.now().names[nameKey{kind, hash}]; ok {
		return name
	}
	return Other
}

// Endpoint returns the name of an endpoint, which may have left the pool; empty for the ID 0.
func (n *Names) Endpoint(id uint64) string {
	if id == 0 {
		return ""
	}
	if name, ok := n.now().endpoints[id]; ok {
		return name
	}
	return Other
}

// AddEndpoints adds endpoints that are known from elsewhere.
func (n *Names) AddEndpoints(names []string) {
	n.change(func(t *nameTable) { t.addEndpoints(len(names), func(i int) string { return names[i] }) })
}

// addEndpoints adds n endpoints.
func (t *nameTable) addEndpoints(n int, name func(i int) string) {
	if len(t.endpoints)+n > mostEndpoints {
		clear(t.endpoints)
	}
	for i := range n {
		t.endpoints[journal.EndpointID(name(i))] = name(i)
	}
}

// fetchNames fetches all names. What a former process of the Envoy told stays known, as long as there is room.
func (f *Follower) fetchNames(ctx context.Context) error {
	text, err := f.get(ctx, namesPath, new(bytes.Buffer))
	if err != nil {
		return err
	}
	names, rest, ok := cutSized(text)
	record, _, whole := cutSized(rest)
	if !ok || !whole {
		return fmt.Errorf("the names of %d bytes are cut short", len(text))
	}
	f.table.learn(names, record)
	return nil
}

func cutSized(src []byte) (value, rest []byte, ok bool) {
	if len(src) < 4 {
		return nil, nil, false
	}
	n := binary.LittleEndian.Uint32(src)
	if uint64(n) > uint64(len(src)-4) {
		return nil, nil, false
	}
	return src[4 : 4+n], src[4+n:], true
}

// learn takes a list of names and a topology's record.
func (n *Names) learn(names, record []byte) {
	n.change(func(t *nameTable) {
		if t.add(names); len(t.names) > mostNames {
			clear(t.names)
			t.add(names)
		}
		r, _, err := snapshot.Next(record)
		if err != nil || r.Kind != snapshot.KindTopology {
			return
		}
		topology, err := snapshot.DecodeTopology(r.Payload)
		if err != nil {
			return
		}
		t.addEndpoints(len(topology.Endpoints), func(i int) string { return topology.Endpoints[i].Name })
	})
}

// add adds a list of names.
func (t *nameTable) add(names []byte) {
	journal.ReadNames(names, func(kind journal.NameKind, hash uint64, name []byte) {
		t.names[nameKey{kind, hash}] = strings.ToValidUTF8(string(name), "")
	})
}

// NamesOf returns names that are known from the start, for tests.
func NamesOf(names map[journal.NameKind][]string, endpoints []string) *Names {
	n := &Names{}
	n.change(func(t *nameTable) {
		for kind, all := range names {
			for _, name := range all {
				t.names[nameKey{kind, journal.HashName(name)}] = name
			}
		}
	})
	n.AddEndpoints(endpoints)
	return n
}
