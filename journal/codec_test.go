package journal

import (
	"encoding/binary"
	"reflect"
	"testing"
)

func hashes(n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i+1) * 0x9e3779b97f4a7c15
	}
	return all
}

// chain is the list of one chain of blocks.
func chain(blocks []uint64) []Chain { return []Chain{{ID: 64, Blocks: blocks}} }

// blocksOf returns the blocks of an event's only chain.
func blocksOf(e *Event) []uint64 { return e.Chains[0].Blocks }

func sampleDecision() Event {
	return Event{
		Kind: Decision, Time: 1_800_000_000_123_456_789, Instance: 0x1122334455667788, Lease: 7,
		Primary: EndpointID("default/vllm-0"),
		Prefill: EndpointID("default/vllm-1"), Encode: hashes(2), Model: HashName("m1"), User: HashName("u"),
		Client:   HashName("10.0.0.9"),
		Fairness: HashName("f"), Priority: -3,
		Asked: HashName("m0"), Profile: HashName("default"), PredictedTokens: 512, Predicted: true, PromptBytes: 20,
		InputTokens: 4096, Cold: true, Streamed: true,
		PrimaryLoad: 23, PrefillLoad: 24, EncodeLoad: 25,
		Chains: []Chain{{256, hashes(256)}, {64, hashes(30)}, {4, []uint64{}}},
	}
}

func sampleCompletion() Event {
	return Event{
		Kind: Completion, Time: -1, Instance: 1, Lease: ^uint32(0), Primary: 2, Model: 3, User: 4, InputTokens: 5,
		OutputTokens: 6,
		CachedTokens: 7, PromptBytes: 21, Status: 503, TTFTMicros: 8, DurationMicros: 9, UsageReported: true,
		CachedReported: true, Ended: EndedReset,
		Asked: 10, Profile: 11, PredictedTokens: 12, Predicted: true, Code: 504, Encode: []uint64{}, Chains: []Chain{},
	}
}

func TestEventRoundTrip(t *testing.T) {
	bare := Event{Kind: Decision, Encode: []uint64{}, Chains: []Chain{}}
	most := Event{Kind: Decision, Encode: hashes(MaxEncode), Chains: chain(hashes(MaxBlocks))}
	beyond := Event{Kind: Decision, Encode: hashes(MaxEncode + 1), Chains: chain(hashes(MaxBlocks + 1))}
	many := Event{Kind: Decision, Encode: []uint64{},
		Chains: []Chain{{1, hashes(1000)}, {2, hashes(20)}, {3, hashes(4)}}}
	manyBeyond := many
	manyBeyond.Chains = []Chain{{1, hashes(1000)}, {2, hashes(20)}, {3, hashes(20)}}
	gone := Event{Kind: Gone, Instance: 5, Encode: []uint64{}, Chains: []Chain{}}
	began := Event{Kind: Began, Lease: 3, Primary: 1, Tried: 2, Status: 200, TTFTMicros: 5, Encode: []uint64{},
		Chains: []Chain{}}
	refused := Event{Kind: Refused, Client: 1, Model: 2, Asked: 3, Reason: 4, Code: 429, Encode: []uint64{},
		Chains: []Chain{}}
	full := Event{Kind: Decision, Encode: hashes(MaxEncode)}
	for i := range MaxChains {
		full.Shadow = append(full.Shadow, Chain{uint64(i), []uint64{}})
		full.Chains = append(full.Chains, Chain{uint64(i), hashes(MaxBlocks / MaxChains)})
	}
	full.Shadowed = Shadowed{Decided: true}
	full.Sessions = []Session{{1, 2}, {3, 4}, {5, 6}, {7, 8}}
	session := Event{Kind: Decision, Encode: []uint64{}, Chains: []Chain{}, Sessions: []Session{{1, 2}}}
	fuller := full
	fuller.Sessions = append(full.Sessions[:MaxSessions:MaxSessions], Session{9, 10})
	fuller.Chains = append(full.Chains[:MaxChains:MaxChains], Chain{ID: 99})
	shadowed := sampleDecision()
	shadowed.Shadow = []Chain{{256, []uint64{}}, {128, hashes(5)}}
	shadowed.Shadowed = Shadowed{Decided: true, Primary: 1, Cached: 2, ActingCached: 3, Load: 4, ActingLoad: 5}
	tests := []struct {
		name     string
		in, want Event
		size     int
	}{
		{"nothing set", bare, bare, eventBytes},
		{"decision of three chains", sampleDecision(), sampleDecision(),
			eventBytes + 8*(1+2) + 8*(2+256) + 8*(2+30) + 8*2},
		{"a session", session, session, eventBytes + 8 + 16},
		{"completion", sampleCompletion(), sampleCompletion(), eventBytes},
		{"began", began, began, eventBytes},
		{"refused", refused, refused, eventBytes},
		{"gone", gone, gone, eventBytes},
		{"one chain as long as can be", most, most, eventBytes + 8*(1+16) + 8*(2+1024)},
		{"longer than can be", beyond, most, eventBytes + 8*(1+16) + 8*(2+1024)},
		{"chains longer than can be", manyBeyond, many, eventBytes + 8*(3*2+1024)},
		{"decision with a shadow's chains", shadowed, shadowed,
			eventBytes + 8*(1+2) + 8*(2+256) + 8*(2+30) + 8*2 + 8*2 + 8*(2+5) + 8*4},
		{"as much as can be", full, full, maxWrittenBytes},
		{"more than can be", fuller, full, maxWrittenBytes},
	}
	got := Event{Encode: []uint64{}, Chains: []Chain{}}
	for range MaxChains {
		got.Shadow = append(got.Shadow, Chain{Blocks: []uint64{}})
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			encoded := AppendEvent([]byte("before"), &tc.in)[len("before"):]
			size, ok := got.Decode(append(encoded, "behind..."...))
			if !ok || size != tc.size || size != len(encoded) {
				t.Fatalf("got size %d of %d and ok %v, want %d and true", size, len(encoded), ok, tc.size)
			}
			want := tc.want
			if len(want.Sessions) == 0 {
				want.Sessions = got.Sessions[:0]
			}
			if len(want.Shadow) == 0 {
				want.Shadow = got.Shadow[:0]
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestStepsLength: steps are no longer than what has room for them, whatever they say.
func TestStepsLength(t *testing.T) {
	tests := []struct {
		name   string
		length uint32
		want   string
	}{
		{"as written", 3, "abc"},
		{"none", 0, ""},
		{"all there is room for", 8, "abc\x00\x00\x00\x00\x00"},
		{"more than there is room for", 9, "abc\x00\x00\x00\x00\x00"},
		{"more than 31 bits", 1 << 31, "abc\x00\x00\x00\x00\x00"},
		{"as much as can be said", 1<<32 - 1, "abc\x00\x00\x00\x00\x00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := AppendEvent(nil, &Event{Kind: Decision, Steps: []byte("abc")})
			binary.LittleEndian.PutUint32(b[eventBytes+sectionBytes:], tt.length)
			var e Event
			if size, ok := e.Decode(b); !ok || size != len(b) || string(e.Steps) != tt.want {
				t.Errorf("got %q, size %d of %d and ok %v, want %q", e.Steps, size, len(b), ok, tt.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	tests := []struct {
		name           string
		endpoint, hash uint64
	}{
		{"", 0xef46db3751d8e999, 0},
		{"a", 0xd24ec4f1a98c6e5b, 0xd24ec4f1a98c6e5b},
	}
	for _, tc := range tests {
		if got := EndpointID(tc.name); got != tc.endpoint {
			t.Errorf("EndpointID(%q): got %x, want %x", tc.name, got, tc.endpoint)
		}
		if got := HashName(tc.name); got != tc.hash {
			t.Errorf("HashName(%q): got %x, want %x", tc.name, got, tc.hash)
		}
	}
}
