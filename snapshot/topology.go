package snapshot

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// ID identifies the topology in load records: the hash of its encoding. It changes with any part of the topology.
func (t *Topology) ID() uint64 {
	payload, err := t.appendPayload(nil)
	if err != nil {
		return 0
	}
	return PayloadID(payload)
}

// PayloadID returns the ID of the topology that a topology record's payload encodes.
func PayloadID(payload []byte) uint64 { return xxhash.Sum64(payload) }

// AppendTopology appends t as one record to dst. It fails with ErrMalformed on an empty or repeated name, an address
// that is not ip:port, a label key that repeats, a string over 65,535 bytes or one that is not UTF-8, and with
// ErrTooLarge over MaxMessageBytes; dst is then returned as it came.
func AppendTopology(dst []byte, t *Topology, p Position) ([]byte, error) {
	start := len(dst)
	dst = appendHeader(dst, KindTopology, p)
	dst, err := t.appendPayload(dst)
	if err != nil {
		return dst[:start], err
	}
	return seal(dst, start)
}

func (t *Topology) appendPayload(dst []byte) ([]byte, error) {
	if !uniqueNames(t.Endpoints) {
		return dst, ErrMalformed
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(t.Endpoints)))
	w := writer{dst: dst}
	for i := range t.Endpoints {
		e := &t.Endpoints[i]
		w.failed = w.failed || !validAddress(e.Address)
		w.string(e.Name)
		w.string(e.Address)
		w.string(e.Engine)
		labels := append([]Label(nil), e.Labels...)
		sort.Slice(labels, func(a, b int) bool { return labels[a].Key < labels[b].Key })
		w.count(len(labels))
		for j, l := range labels {
			w.failed = w.failed || j > 0 && labels[j-1].Key == l.Key
			w.string(l.Key)
			w.string(l.Value)
		}
		w.count(len(e.Models))
		for _, m := range e.Models {
			w.string(m)
		}
	}
	w.rules(t)
	w.baseModels(t)
	if w.failed {
		return w.dst, ErrMalformed
	}
	return w.dst, nil
}

func (w *writer) rules(t *Topology) {
	w.count(len(t.Objectives))
	for _, o := range t.Objectives {
		w.string(o.Name)
		w.dst = binary.LittleEndian.AppendUint32(w.dst, uint32(o.Priority))
	}
	w.count(len(t.Rewrites))
	for _, rewrite := range t.Rewrites {
		w.count(len(rewrite.Models))
		for _, m := range rewrite.Models {
			w.string(m)
		}
		w.count(len(rewrite.Targets))
		for _, target := range rewrite.Targets {
			w.string(target.Model)
			w.dst = binary.LittleEndian.AppendUint32(w.dst, target.Weight)
		}
	}
}

// tagBaseModels is the section of a topology that tells of each endpoint how many of its models are base models.
const tagBaseModels = 2

// baseModels writes them if any endpoint's are known.
func (w *writer) baseModels(t *Topology) {
	known := func(e Endpoint) bool { return e.BaseModels != 0 }
	if !slices.ContainsFunc(t.Endpoints, known) {
		return
	}
	w.dst = binary.LittleEndian.AppendUint32(w.dst, tagBaseModels)
	w.dst = binary.LittleEndian.AppendUint32(w.dst, uint32(2*len(t.Endpoints)))
	for i := range t.Endpoints {
		n := t.Endpoints[i].BaseModels
		w.failed = w.failed || n < 0 || n > len(t.Endpoints[i].Models)
		w.count(n)
	}
}

func (r *reader) baseModels(t *Topology) {
	r.failed = r.failed || len(r.left) != 2*len(t.Endpoints)
	for i := range t.Endpoints {
		t.Endpoints[i].BaseModels = min(int(r.uint16()), len(t.Endpoints[i].Models))
	}
}

// DecodeTopology reads a topology record's payload. The result shares no memory with payload.
func DecodeTopology(payload []byte) (*Topology, error) {
	r := reader{left: payload}
	n := r.uint32()
	const smallestEndpoint = 3*2 + 2*2
	if uint64(n) > uint64(len(r.left)/smallestEndpoint) {
		return nil, ErrMalformed
	}
	t := &Topology{Endpoints: make([]Endpoint, n)}
	for i := range t.Endpoints {
		if !r.endpoint(&t.Endpoints[i]) {
			return nil, ErrMalformed
		}
	}
	r.rules(t)
	if !r.sections(nil, t) || !uniqueNames(t.Endpoints) {
		return nil, ErrMalformed
	}
	return t, nil
}

func (r *reader) endpoint(e *Endpoint) bool {
	e.Name, e.Address, e.Engine = r.string(), r.string(), r.string()
	if !validAddress(e.Address) {
		return false
	}
	e.Labels = list[Label](r.count(4))
	for j := range e.Labels {
		e.Labels[j] = Label{Key: r.string(), Value: r.string()}
		if j > 0 && e.Labels[j-1].Key >= e.Labels[j].Key {
			return false
		}
	}
	e.Models = r.strings()
	return !r.failed
}

func (r *reader) rules(t *Topology) {
	t.Objectives = list[Objective](r.count(2 + 4))
	for i := range t.Objectives {
		t.Objectives[i] = Objective{Name: r.string(), Priority: int32(r.uint32())}
	}
	t.Rewrites = list[Rewrite](r.count(2 + 2))
	for i := range t.Rewrites {
		t.Rewrites[i].Models = r.strings()
		targets := list[RewriteTarget](r.count(2 + 4))
		for j := range targets {
			targets[j] = RewriteTarget{Model: r.string(), Weight: r.uint32()}
		}
		t.Rewrites[i].Targets = targets
	}
}

// list makes a slice of n items, nil for none.
func list[T any](n int) []T {
	if n == 0 {
		return nil
	}
	return make([]T, n)
}

func (r *reader) strings() []string {
	all := list[string](r.count(2))
	for i := range all {
		all[i] = r.string()
	}
	return all
}

// validAddress reports whether s is ip:port, an IPv6 address in brackets. Addresses go into headers and filter state as
// they are.
func validAddress(s string) bool {
	address, err := netip.ParseAddrPort(s)
	return err == nil && address.Port() != 0 && address.Addr().Zone() == ""
}

func uniqueNames(endpoints []Endpoint) bool {
	seen := make(map[string]struct{}, len(endpoints))
	for i := range endpoints {
		name := endpoints[i].Name
		if _, again := seen[name]; again || name == "" {
			return false
		}
		seen[name] = struct{}{}
	}
	return true
}

// A writer appends strings and counts and remembers whether one did not fit.
type writer struct {
	dst    []byte
	failed bool
}

func (w *writer) count(n int) {
	w.failed = w.failed || n > 0xffff
	w.dst = binary.LittleEndian.AppendUint16(w.dst, uint16(n))
}

func (w *writer) string(s string) {
	w.failed = w.failed || !utf8.ValidString(s)
	w.count(len(s))
	w.dst = append(w.dst, s...)
}

// A reader takes fields off the front of left. After the first field that is not there it yields zeros.
type reader struct {
	left   []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if r.failed || n > len(r.left) {
		r.failed = true
		return nil
	}
	taken := r.left[:n]
	r.left = r.left[n:]
	return taken
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// sections takes the sections with which a payload ends and reports whether all of the payload was as it must be. Those
// that are known fill l or t, of which one is nil.
func (r *reader) sections(l *Load, t *Topology) (ok bool) {
	for !r.failed && len(r.left) > 0 {
		tag := r.uint32()
		length := r.uint32()
		r.failed = r.failed || uint64(length) > uint64(len(r.left))
		if r.failed {
			break
		}
		section := reader{left: r.take(int(length))}
		switch {
		case l != nil && tag == tagAttributes:
			section.attributes(l)
		case t != nil && tag == tagBaseModels:
			section.baseModels(t)
		}
		r.failed = section.failed
	}
	return !r.failed
}

// count reads how many items follow, each at least itemBytes long, so that a forged count cannot make the caller
// allocate.
func (r *reader) count(itemBytes int) int {
	n := int(r.uint16())
	if n*itemBytes > len(r.left) {
		r.failed = true
		return 0
	}
	return n
}

func (r *reader) bytes() []byte {
	b := r.take(int(r.uint16()))
	if !utf8.Valid(b) {
		r.failed = true
	}
	return b
}

func (r *reader) string() string { return string(r.bytes()) }
