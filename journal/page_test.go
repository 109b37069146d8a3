package journal

import (
	"bytes"
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

func TestParsePageRefuses(t *testing.T) {
	event := sampleCompletion()
	record := appendRecord(nil, &event)
	good := page{slots: 4, epoch: 1, number: 2, first: 3, count: 1, length: uint32(len(record))}
	tests := []struct {
		name   string
		header func(*page)
		bytes  func([]byte) []byte
		ok     bool
	}{
		{"as it should be", nil, nil, true},
		{"empty", func(p *page) { p.count, p.length = 0, 0 }, func(b []byte) []byte { return b[:headerBytes] }, true},
		{"nothing", nil, func([]byte) []byte { return nil }, false},
		{"part of the header", nil, func(b []byte) []byte { return b[:headerBytes-1] }, false},
		{"cut short", nil, func(b []byte) []byte { return b[:len(b)-1] }, false},
		{"a byte too many", nil, func(b []byte) []byte { return append(b, 0) }, false},
		{"other version", nil, func(b []byte) []byte { b[11] = 1; return b }, false},
		{"checksum", nil, func(b []byte) []byte { b[16] ^= 1; return b }, false},
		{"no slots", func(p *page) { p.slots = 0 }, nil, false},
		{"slots that are no power of two", func(p *page) { p.slots = 12 }, nil, false},
		{"more events than fit", func(p *page) { p.count = 4 }, nil, false},
		{
			"longer than can be", func(p *page) { p.length = maxPageBytes },
			func(b []byte) []byte { return append(b[:headerBytes], make([]byte, maxPageBytes)...) }, false,
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := good
			if tc.header != nil {
				tc.header(&p)
			}
			value := append(make([]byte, headerBytes), record...)
			p.put(value)
			if tc.bytes != nil {
				value = tc.bytes(value)
			}
			got, ok := parsePage(value)
			if ok != tc.ok || ok && got != p {
				t.Errorf("got %+v and %v, want %+v and %v", got, ok, p, tc.ok)
			}
		})
	}
}

func TestSlotKeys(t *testing.T) {
	tests := []struct {
		slots  uint32
		number uint64
		want   string
	}{
		{4, 0, "pintle/v2/journal/00000"},
		{4, 7, "pintle/v2/journal/00003"},
		{1 << 16, 1<<16 - 1, "pintle/v2/journal/65535"},
		{2048, 1<<32 + 5, "pintle/v2/journal/00005"},
	}
	var key slotKey
	for _, tc := range tests {
		if got := key.of(&page{slots: tc.slots}, tc.number); got != tc.want {
			t.Errorf("page %d of %d slots: got %s, want %s", tc.number, tc.slots, got, tc.want)
		}
	}
}

// TestForeignSlots has slots that hold a page of the right number, but of an earlier log, or one that is damaged.
func TestForeignSlots(t *testing.T) {
	tests := []struct {
		name   string
		change func([]byte) []byte
	}{
		{"another log's", func(b []byte) []byte { return reseal(b, func(p *page) { p.epoch++ }) }},
		{"of another size of ring", func(b []byte) []byte { return reseal(b, func(p *page) { p.slots *= 2 }) }},
		{"an older page's", func(b []byte) []byte { return reseal(b, func(p *page) { p.number -= 16 }) }},
		{"a page's that cannot be there", func(b []byte) []byte { return reseal(b, func(p *page) { p.number++ }) }},
		{"cut short", func(b []byte) []byte { return b[:100] }},
		{"a damaged record", func(b []byte) []byte { b[500] ^= 1; return b }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			data := journaltest.New(0)
			store := data.Store()
			a, b := open(t, store, 1, 16), open(t, data.Store(), 2, 16)
			decide(t, a, MaxBlocks)
			expect(t, b, "d1.1")
			for range 4 {
				decide(t, a, MaxBlocks)
			}
			value, _, _ := store.Get("pintle/v2/journal/00002")
			store.Set("pintle/v2/journal/00002", tc.change(bytes.Clone(value)), 0)
			expect(t, b, "d1.2", "m1", "d1.4", "d1.5")
			if got := b.Stats(); got.Missed != 1 || got.Corrupt != 1 {
				t.Errorf("got %+v, want 1 missed and 1 corrupt", got)
			}
		})
	}
}

func reseal(value []byte, change func(*page)) []byte {
	p, _ := parsePage(value)
	change(&p)
	p.put(value)
	return value
}
