package state

import (
	"slices"
	"unsafe"

	"github.com/pintle-dev/pintle/journal"
)

// MaxAdapters bounds how many LoRA adapters are remembered of an endpoint.
const MaxAdapters = 64

// Adapters are the models that each endpoint was asked for last, but for base models: by them it is known which LoRA
// adapters a server has loaded, as servers keep those that were used last. A step of it takes as many steps as an
// endpoint has adapters.
type Adapters struct {
	bases []uint64
	used  [][]AdapterUse // by index, the newest first
}

// AdapterUse is that an endpoint was asked for an adapter: its hash (journal.HashName), and when that was last, in
// nanoseconds since 1970.
type AdapterUse struct {
	Model uint64
	At    int64
}

// SetBases says which models are base models, by their hashes (journal.HashName). The slice is copied.
func (a *Adapters) SetBases(models []uint64) { a.bases = append(a.bases[:0], models...) }

// Resize makes room for indexes below n. It never shrinks.
func (a *Adapters) Resize(n int) {
	for len(a.used) < n {
		a.used = append(a.used, nil)
	}
}

// Reset forgets an endpoint.
func (a *Adapters) Reset(index int) {
	if uint(index) < uint(len(a.used)) {
		a.used[index] = a.used[index][:0]
	}
}

// Expire does nothing: an adapter stays until others take its place.
func (a *Adapters) Expire(int64) {}

func (a *Adapters) apply(s *step) {
	switch {
	case s.Kind == journal.Decision:
		a.use(s.primary, s.Model, s.Time)
		a.use(s.prefill, s.Model, s.Time)
	case s.Kind == journal.Completion && s.Tried != 0: // it was served elsewhere than decided
		a.use(s.primary, s.Model, s.Time)
	}
}

// MemoryBytes is that of the lists.
func (a *Adapters) MemoryBytes() (n int) {
	for _, list := range a.used {
		n += cap(list) * int(unsafe.Sizeof(AdapterUse{}))
	}
	return n
}

func (a *Adapters) use(index int, model uint64, at int64) {
	if model == 0 || uint(index) >= uint(len(a.used)) || slices.Contains(a.bases, model) {
		return
	}
	list := a.used[index]
	place := slices.IndexFunc(list, func(u AdapterUse) bool { return u.Model == model })
	if place < 0 && len(list) < MaxAdapters {
		list = append(list, AdapterUse{})
	}
	if place < 0 {
		place = len(list) - 1
	}
	copy(list[1:place+1], list[:place])
	list[0] = AdapterUse{model, at}
	a.used[index] = list
}

// Used are the adapters that an endpoint was asked for, the last one first. Valid until the next event.
func (a *Adapters) Used(index int) []AdapterUse {
	if uint(index) >= uint(len(a.used)) {
		return nil
	}
	return a.used[index]
}
