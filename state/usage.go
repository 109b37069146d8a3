package state

import (
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// Usage is how many tokens the requests of an endpoint have, as the server reported in answers of status 2xx.
type Usage struct {
	// Input and Output are the tokens of a request.
	Input, Output *Windows
}

// NewUsage makes one whose samples are forgotten at an age, 0 for DefaultWindowAge.
func NewUsage(age time.Duration) *Usage {
	return &Usage{Input: NewWindows(age), Output: NewWindows(age)}
}

// Resize makes room for indexes below n. It never shrinks.
func (u *Usage) Resize(n int) {
	u.Input.Resize(n)
	u.Output.Resize(n)
}

// Reset forgets all samples of an index.
func (u *Usage) Reset(index int) {
	u.Input.Reset(index)
	u.Output.Reset(index)
}

// Expire sets the clock.
func (u *Usage) Expire(now int64) {
	u.Input.Expire(now)
	u.Output.Expire(now)
}

func (u *Usage) apply(s *step) {
	if s.Kind == journal.Completion {
		u.Complete(s.primary, s.Event)
	}
}

// Complete enters what a completion tells about the index. One that reports no tokens tells nothing.
func (u *Usage) Complete(index int, e *journal.Event) {
	if e.Status/100 != 2 || e.InputTokens == 0 && e.OutputTokens == 0 {
		return
	}
	u.Input.Add(index, e.Time, e.InputTokens)
	u.Output.Add(index, e.Time, e.OutputTokens)
}

// MemoryBytes is the memory that it holds.
func (u *Usage) MemoryBytes() int { return u.Input.MemoryBytes() + u.Output.MemoryBytes() }
