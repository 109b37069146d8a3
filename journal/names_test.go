package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// namesIn lists what a list of names has.
func namesIn(value []byte) (all []string) {
	ReadNames(value, func(kind NameKind, hash uint64, name []byte) {
		all = append(all, fmt.Sprintf("%d %d %s", kind, hash, name))
	})
	return all
}

// nameList is a list of names as the format has it.
func nameList(entries ...[]byte) []byte {
	return bytes.Join(append([][]byte{[]byte("PNN\x01")}, entries...), nil)
}

func nameEntry(kind NameKind, hash uint64, name string) []byte {
	b := append([]byte{byte(kind), byte(len(name))}, binary.LittleEndian.AppendUint64(nil, hash)...)
	return append(b, name...)
}

// TestReadNames: names are read up to one that is cut, of unknown kinds, too.
func TestReadNames(t *testing.T) {
	a, b := nameEntry(ModelName, 5, "m"), nameEntry(9, 6, "later")
	two := []string{"1 5 m", "9 6 later"}
	tests := []struct {
		name  string
		value []byte
		want  []string
	}{
		{"nothing", nil, nil},
		{"part of the head", []byte("PNN"), nil},
		{"no names", nameList(), nil},
		{"two", nameList(a, b), two},
		{"an empty one at the end", nameList(a, nameEntry(UserName, 7, "")), []string{"1 5 m", "2 7 "}},
		{"a cut text", nameList(a, b, b[:len(b)-1]), two},
		{"a cut head", nameList(a, b, b[:nameHeadBytes-1]), two},
		{"another version", append([]byte("PNN\x02"), a...), nil},
		{"something else", append([]byte("PNJ\x01"), a...), nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := namesIn(tc.value); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// meanwhile has another VM do something before the first change through a store.
type meanwhile struct {
	Store
	act func()
}

func (m *meanwhile) Set(key string, value []byte, change uint32) bool {
	if act := m.act; act != nil {
		m.act = nil
		act()
	}
	return m.Store.Set(key, value, change)
}

// TestNamesOfTwoAtOnce: what another VM adds between two steps is not lost, be the list there or not.
func TestNamesOfTwoAtOnce(t *testing.T) {
	for _, there := range []bool{false, true} {
		t.Run(fmt.Sprintf("the list is there: %v", there), func(t *testing.T) {
			data := journaltest.New(0)
			var want []string
			if there {
				(&Names{Store: data.Store()}).Add(ModelName, 1, "first")
				want = append(want, "1 1 first")
			}
			other := &Names{Store: data.Store()}
			a := &Names{Store: &meanwhile{data.Store(), func() { other.Add(ModelName, 2, "other") }}}
			if !a.Add(ModelName, 3, "own") {
				t.Error("the name was not added")
			}
			value, _ := StoredNames(data.Store())
			if got := namesIn(value); !reflect.DeepEqual(got, append(want, "1 2 other", "1 3 own")) {
				t.Errorf("got %q, want what both added behind %q", got, want)
			}
		})
	}
}

// refusingNames is a store that takes nothing.
type refusingNames struct{ Store }

func (refusingNames) Set(string, []byte, uint32) bool { return false }

// TestNamesAreDone: adding is done once the name is in the list, need not be there or has no room.
func TestNamesAreDone(t *testing.T) {
	data := journaltest.New(0)
	refused := &Names{Store: refusingNames{data.Store()}}
	if refused.Add(ModelName, 1, "a") {
		t.Error("done, though the store takes nothing")
	}
	other := &Names{Store: data.Store()}
	if !other.Add(ModelName, 1, "a") {
		t.Error("not done, though the store takes it")
	}
	for name, hash := range map[string]uint64{"known to another": 1, "without a hash": 0} {
		if !refused.Add(ModelName, hash, "a") {
			t.Errorf("%s: not done, want done", name)
		}
	}
	if refused.Add(UserName, 1, "a") {
		t.Error("done, though that is another kind's")
	}
	for i := range uint64(MaxNames - 1) {
		other.Add(ModelName, 2+i, "b")
	}
	if value, _ := StoredNames(data.Store()); len(namesIn(value)) != MaxNames {
		t.Errorf("got %d names, want %d", len(namesIn(value)), MaxNames)
	}
	if !refused.Add(ModelName, 9999, "c") || !other.Add(ModelName, 9999, "c") {
		t.Error("not done, though there is no room for more")
	}
}

// TestNamesBesideLaterKinds: kinds that a later version has are left alone, and take no room of those that are known.
func TestNamesBesideLaterKinds(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	value := nameList()
	for i := range uint64(2 * MaxNames) {
		value = append(value, nameEntry(NameKind(nameKinds+i%2*200), i+1, "later")...)
	}
	store.Set(namesKey, value, 0)
	n := &Names{Store: data.Store()}
	n.Add(FairnessName, 3, "own")
	got, _ := StoredNames(store)
	if want := append(value, nameEntry(FairnessName, 3, "own")...); !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, want the %d that were there and the name", len(got), len(value))
	}
}

// TestNamesOfOneSlot: names that fall into one place of the table of known ones are told apart, also at its end.
func TestNamesOfOneSlot(t *testing.T) {
	const kind = ProfileName
	for _, slot := range []uint64{5, knownSlots - 1} {
		t.Run(fmt.Sprint(slot), func(t *testing.T) {
			data := journaltest.New(0)
			n := &Names{Store: data.Store()}
			var want []string
			for i := range uint64(3) {
				hash := knownKey(kind, slot+i*knownSlots) // its own inverse
				for range 2 {
					n.Add(kind, hash, "x")
				}
				want = append(want, fmt.Sprintf("%d %d x", kind, hash))
			}
			value, _ := StoredNames(data.Store())
			if got := namesIn(value); !reflect.DeepEqual(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
