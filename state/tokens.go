package state

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

const (
	// DefaultTokenWindow is how far back a Tokens looks.
	DefaultTokenWindow = 5 * time.Minute
	// DefaultTokenUsers bounds the users of a Tokens.
	DefaultTokenUsers = 4096

	// tokenSlots is how many parts a window is cut into. The oldest one leaves as a whole.
	tokenSlots     = 60
	tokenUserShift = 6
)

// served is what a user got in one part of the window.
type served struct{ input, output uint32 }

// account is one user. id is 0 where there is none.
type account struct {
	id            uint64
	input, output uint64 // sums of slots
	total         float64
	slots         [tokenSlots]served
}

// Tokens is how many tokens each user was served within a sliding window: as estimated when a request was decided, and as the server
// reported once it ended. A user's total is the sum of input and output tokens, each times a weight.
//
// Users are known by hashes of their names. One without tokens in the window is forgotten. When there are too many, the one with the least total
// makes way, so that who invents names pushes out nobody but his own.
type Tokens struct {
	everywhere
	input, output float64 // weights
	width         int64   // of a slot, nanoseconds
	slot          int64   // the number of the current one
	clock         clock
	limit         uint32
	factor        uint64
	table         table
	accounts      chunks[account] // by number in the table

	least, most float64 // of the positive totals, unless unknown
	unknown     bool
}

// NewTokens makes an empty one with a window, 0 for DefaultTokenWindow, for at most users, 0 for DefaultTokenUsers, with the weights of input
// and output tokens. seed is as for NewPrefix.
func NewTokens(window time.Duration, users int, input, output float64, seed uint64) *Tokens {
	if window <= 0 {
		window = DefaultTokenWindow
	}
	t := &Tokens{input: input, output: output, factor: splitMix(seed) | 1}
	t.width = max(int64(window)/tokenSlots, 1)
	t.limit = uint32(positive(users, DefaultTokenUsers))
	t.accounts.shift = tokenUserShift
	t.table.init()
	return t
}

// Expire sets the clock and forgets what has left the window. It is cheap as long as nothing has.
func (t *Tokens) Expire(now int64) {
	slot := t.clock.set(now) / t.width
	passed := slot - t.slot
	if passed <= 0 {
		return
	}
	t.slot = slot
	for i := uint32(1); i <= t.table.top; i++ {
		if a := t.accounts.at(i); a.id != 0 {
			t.leave(i, a, min(passed, tokenSlots))
		}
	}
}

// leave empties the slots that are used again now, and drops an account in which nothing is left.
func (t *Tokens) leave(i uint32, a *account, slots int64) {
	for k := range slots {
		s := &a.slots[(t.slot-k)%tokenSlots]
		a.input -= uint64(s.input)
		a.output -= uint64(s.output)
		*s = served{}
	}
	t.sum(a)
	if a.input == 0 && a.output == 0 {
		t.drop(i, a)
	}
}

// apply enters the estimate of a decision, and at its end what was served.
func (t *Tokens) apply(s *step) {
	switch {
	case s.Kind == journal.Decision:
		t.Add(s.User, s.Time, s.InputTokens, s.OutputTokens)
	case s.Kind == journal.Completion && s.leases != nil:
		if decided, input, output, ok := s.leases.Estimate(s.Event); ok {
			t.Settle(s.Event, decided, input, output)
		}
	}
}

// Add enters tokens that a user was served at a time. Those from before the window are passed over.
func (t *Tokens) Add(user uint64, at int64, input, output uint32) {
	if user == 0 || input == 0 && output == 0 {
		return
	}
	slot := min(t.clock.at(at)/t.width, t.slot)
	if slot < 0 || slot <= t.slot-tokenSlots {
		return
	}
	i := t.find(user)
	if i == 0 {
		i = t.enter(user)
	}
	a := t.accounts.at(i)
	s := &a.slots[slot%tokenSlots]
	input, output = min(input, math.MaxUint32-s.input), min(output, math.MaxUint32-s.output)
	s.input += input
	s.output += output
	a.input += uint64(input)
	a.output += uint64(output)
	t.sum(a)
}

// Take takes back what Add entered at a time by the clock, as far as it is still there.
func (t *Tokens) Take(user uint64, at int64, input, output uint32) {
	slot := min(at/t.width, t.slot)
	i := t.find(user)
	if i == 0 || slot < 0 || slot <= t.slot-tokenSlots {
		return
	}
	a := t.accounts.at(i)
	s := &a.slots[slot%tokenSlots]
	input, output = min(input, s.input), min(output, s.output)
	s.input -= input
	s.output -= output
	a.input -= uint64(input)
	a.output -= uint64(output)
	t.sum(a)
	if a.input == 0 && a.output == 0 {
		t.drop(i, a)
	}
}

// Settle replaces the estimate of a request, decided at a time by the clock, by what its completion reports. A completion that reports nothing leaves the
// estimate, unless the server refused the request; one that reports output alone leaves that of the input.
func (t *Tokens) Settle(e *journal.Event, decided int64, input, output uint32) {
	reported := e.InputTokens != 0 || e.OutputTokens != 0
	if !reported && e.Status < 400 {
		return
	}
	if reported && e.InputTokens == 0 {
		input = 0
	}
	// What is reported comes first, so that a user with this one request is not forgotten in between.
	t.Add(e.User, e.Time, e.InputTokens, e.OutputTokens)
	t.Take(e.User, decided, input, output)
}

// Total is a user's weighted sum of tokens.
func (t *Tokens) Total(user uint64) float64 {
	if i := t.find(user); i != 0 {
		return t.accounts.at(i).total
	}
	return 0
}

// Range is the least and the greatest positive total of any user; ok is false when there is none.
func (t *Tokens) Range() (least, most float64, ok bool) {
	if t.unknown {
		t.least, t.most, t.unknown = 0, 0, false
		for i := uint32(1); i <= t.table.top; i++ {
			t.reach(t.accounts.at(i).total)
		}
	}
	return t.least, t.most, t.most > 0
}

// Users is the number of users with tokens in the window.
func (t *Tokens) Users() int { return int(t.table.used) }

// MemoryBytes is the memory that it holds.
func (t *Tokens) MemoryBytes() int { return t.table.memory() + t.accounts.memory() }

// sum brings the total of an account, and the range, up to date.
func (t *Tokens) sum(a *account) {
	total := float64(a.input)*t.input + float64(a.output)*t.output
	old := a.total
	a.total = total
	if total != old && (old == t.least || old == t.most && total < old) && old > 0 {
		t.unknown = true
	}
	t.reach(total)
}

func (t *Tokens) reach(total float64) {
	if total <= 0 {
		return
	}
	if t.most == 0 {
		t.least = total
	}
	t.least, t.most = min(t.least, total), max(t.most, total)
}

func (t *Tokens) find(user uint64) uint32 {
	for i := t.table.find(mix(user, t.factor)); i != 0; i = t.table.following(i) {
		if t.accounts.at(i).id == user {
			return i
		}
	}
	return 0
}

func (t *Tokens) enter(user uint64) uint32 {
	if t.table.used >= t.limit {
		t.dropLeast()
	}
	i := t.table.insert(mix(user, t.factor))
	t.accounts.reach(i)
	*t.accounts.at(i) = account{id: user}
	return i
}

// dropLeast drops the account with the least total. Of equal ones it is that with the least id: numbers in the table may differ between
// workers.
func (t *Tokens) dropLeast() {
	least := uint32(0)
	for i := uint32(1); i <= t.table.top; i++ {
		a := t.accounts.at(i)
		if a.id == 0 {
			continue
		}
		if least == 0 {
			least = i
			continue
		}
		if b := t.accounts.at(least); a.total < b.total || a.total == b.total && a.id < b.id {
			least = i
		}
	}
	t.drop(least, t.accounts.at(least))
}

func (t *Tokens) drop(i uint32, a *account) {
	if a.total > 0 && (a.total == t.least || a.total == t.most) {
		t.unknown = true
	}
	*a = account{}
	t.table.remove(i)
}
