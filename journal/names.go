package journal

import "encoding/binary"

// NameKind says what a name is the name of.
type NameKind uint8

// The kinds of names.
const (
	// ModelName: Event.Model and Event.Asked.
	ModelName NameKind = 1
	// UserName: Event.User.
	UserName NameKind = 2
	// ProfileName: Event.Profile.
	ProfileName NameKind = 3
	// ReasonName: Event.Reason.
	ReasonName NameKind = 4
	// PluginName: a scorer or a filter in Event.Steps.
	PluginName NameKind = 5
	// FairnessName: Event.Fairness.
	FairnessName NameKind = 6

	nameKinds = 7
)

// MaxNames is how many names of a kind there are at most. Events with others go on having their hashes.
const MaxNames = 256

// MaxNameBytes is how much of a name is kept.
const MaxNameBytes = 255

const (
	namesKey = "pintle/v1/names"
	// namesMagic is the bytes PNN and the version of the format, 1.
	namesMagic     = uint32('P') | 'N'<<8 | 'N'<<16 | 1<<24
	namesHeadBytes = 4
	nameHeadBytes  = 10

	// knownSlots is a power of two above twice the names that there can be.
	knownSlots = 4096
)

// Names tells other processes the names behind an event's hashes. It is one VM's access to the list that all VMs share;
// what is in it stays. Adding a name that is known costs one look into a table of its own. The zero value with a Store
// is ready; it is not safe for concurrent use.
type Names struct {
	Store Store
	// known are the hashes of the names that are in the list, each changed by its kind, in an open table.
	known []uint64
	count [nameKinds]int
	next  []byte
}

// Add adds a name of which hash is the HashName. It is to be called before an event with the hash is appended. done
// says that nothing is left to be done for it; otherwise other VMs were faster again and again.
func (n *Names) Add(kind NameKind, hash uint64, name string) (done bool) {
	return hash == 0 || n.has(kind, hash) || n.count[kind] == MaxNames || n.add(kind, hash, name)
}

// add reads the list again, which another VM may have added to, and appends the name where it is missing.
func (n *Names) add(kind NameKind, hash uint64, name string) (done bool) {
	for range maxAttempts {
		value, change, ok := n.Store.Get(namesKey)
		if !ok {
			change = absent
		}
		n.learn(value)
		if n.has(kind, hash) || n.count[kind] == MaxNames {
			return true
		}
		n.next = append(n.next[:0], value...)
		if !validNames(n.next) {
			n.next = binary.LittleEndian.AppendUint32(n.next[:0], namesMagic)
		}
		name = name[:min(len(name), MaxNameBytes)]
		n.next = append(n.next, byte(kind), byte(len(name)))
		n.next = append(binary.LittleEndian.AppendUint64(n.next, hash), name...)
		if n.Store.Set(namesKey, n.next, change) {
			n.note(kind, hash)
			return true
		}
	}
	return false
}

// has reports whether the name is known to be in the list.
func (n *Names) has(kind NameKind, hash uint64) bool {
	if n.known == nil {
		n.known = make([]uint64, knownSlots)
	}
	key := knownKey(kind, hash)
	for i := key % knownSlots; n.known[i] != 0; i = (i + 1) % knownSlots {
		if n.known[i] == key {
			return true
		}
	}
	return false
}

func (n *Names) note(kind NameKind, hash uint64) {
	key := knownKey(kind, hash)
	i := key % knownSlots
	for n.known[i] != 0 {
		i = (i + 1) % knownSlots
	}
	n.known[i] = key
	n.count[kind]++
}

func knownKey(kind NameKind, hash uint64) uint64 {
	return max(hash^uint64(kind)*0x9e3779b97f4a7c15, 1)
}

// learn notes what is in the list.
func (n *Names) learn(value []byte) {
	ReadNames(value, func(kind NameKind, hash uint64, _ []byte) {
		if kind < nameKinds && n.count[kind] < MaxNames && !n.has(kind, hash) {
			n.note(kind, hash)
		}
	})
}

func validNames(value []byte) bool {
	return len(value) >= namesHeadBytes && binary.LittleEndian.Uint32(value) == namesMagic
}

// ReadNames calls each with every name in a list, see StoredNames. Kinds that are not known here are among them,
// and names that are not UTF-8 or cut in the middle of a letter.
func ReadNames(value []byte, each func(kind NameKind, hash uint64, name []byte)) {
	if !validNames(value) {
		return
	}
	for value = value[namesHeadBytes:]; len(value) >= nameHeadBytes; {
		end := nameHeadBytes + int(value[1])
		if end > len(value) {
			return
		}
		each(NameKind(value[0]), binary.LittleEndian.Uint64(value[2:]), value[nameHeadBytes:end])
		value = value[end:]
	}
}

// StoredNames returns the list, valid until the next Get of the store, and a number that changes with it, 0 for none.
func StoredNames(store Store) (value []byte, change uint32) {
	value, change, _ = store.Get(namesKey)
	return value, change
}
