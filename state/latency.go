package state

import (
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// Latency is how fast answers of status 2xx came. An answer with another status says nothing of the model's speed.
type Latency struct {
	// TTFT is the time from the decision to the first byte of the response body, in microseconds. For an answer that
	// was not streamed that is the whole of its time.
	TTFT *Windows
	// TPOT is the time per output token in microseconds: from the first byte to the end, over the number of tokens less
	// one. An answer of fewer than two tokens, or of an unknown number, has none.
	TPOT *Windows
}

// NewLatency makes one whose samples are forgotten at an age, 0 for DefaultWindowAge.
func NewLatency(age time.Duration) *Latency {
	return &Latency{TTFT: NewWindows(age), TPOT: NewWindows(age)}
}

// Resize makes room for indexes below n. It never shrinks.
func (l *Latency) Resize(n int) {
	l.TTFT.Resize(n)
	l.TPOT.Resize(n)
}

// Reset forgets all samples of an index.
func (l *Latency) Reset(index int) {
	l.TTFT.Reset(index)
	l.TPOT.Reset(index)
}

// Expire sets the clock.
func (l *Latency) Expire(now int64) {
	l.TTFT.Expire(now)
	l.TPOT.Expire(now)
}

func (l *Latency) apply(s *step) {
	if s.Kind == journal.Completion {
		l.Complete(s.primary, s.Event)
	}
}

// Complete enters what a completion tells about the index.
func (l *Latency) Complete(index int, e *journal.Event) {
	if e.Status/100 != 2 || e.TTFTMicros == 0 {
		return
	}
	l.TTFT.Add(index, e.Time, e.TTFTMicros)
	if e.OutputTokens < 2 || e.DurationMicros <= e.TTFTMicros {
		return
	}
	tokens := e.OutputTokens - 1
	l.TPOT.Add(index, e.Time, uint32((uint64(e.DurationMicros-e.TTFTMicros)+uint64(tokens/2))/uint64(tokens)))
}

// MemoryBytes is the memory that it holds.
func (l *Latency) MemoryBytes() int { return l.TTFT.MemoryBytes() + l.TPOT.MemoryBytes() }

// MaxModels bounds the models of a ModelLatency.
const MaxModels = 256

// ModelLatency is Latency by model. To find a model takes up to MaxModels steps. Beyond MaxModels the model whose
// latest completion is the oldest is forgotten.
type ModelLatency struct {
	Latency // by place of the model
	hashes  []uint64
	times   []int64
}

// NewModelLatency makes one whose samples are forgotten at an age, 0 for DefaultWindowAge.
func NewModelLatency(age time.Duration) *ModelLatency {
	return &ModelLatency{
		Latency: *NewLatency(age),
		hashes:  make([]uint64, 0, MaxModels),
		times:   make([]int64, 0, MaxModels),
	}
}

// Index is the index of a model in TTFT and TPOT, -1 when nothing is known of it. It is valid until the next event is
// applied.
func (m *ModelLatency) Index(model uint64) int {
	for i, h := range m.hashes {
		if h == model {
			return i
		}
	}
	return -1
}

// Resize does nothing, as nothing is kept by endpoint.
func (m *ModelLatency) Resize(int) {}

// Reset does nothing, as nothing is kept by endpoint.
func (m *ModelLatency) Reset(int) {}

func (m *ModelLatency) apply(s *step) {
	if s.Kind == journal.Completion {
		m.Complete(s.Event)
	}
}

// Complete enters what a completion tells about its model.
func (m *ModelLatency) Complete(e *journal.Event) {
	if e.Model == 0 || e.Status/100 != 2 || e.TTFTMicros == 0 {
		return
	}
	i, now := m.Index(e.Model), m.TTFT.clock.at(e.Time)
	if i < 0 {
		i = m.enter(e.Model)
		m.times[i] = now
	}
	m.times[i] = max(m.times[i], now)
	m.Latency.Complete(i, e)
}

func (m *ModelLatency) enter(model uint64) int {
	if i := len(m.hashes); i < MaxModels {
		m.hashes = append(m.hashes, model)
		m.times = append(m.times, 0)
		m.Latency.Resize(i + 1)
		return i
	}
	oldest := 0
	for i, t := range m.times {
		if t < m.times[oldest] {
			oldest = i
		}
	}
	m.Latency.Reset(oldest)
	m.hashes[oldest] = model
	return oldest
}
