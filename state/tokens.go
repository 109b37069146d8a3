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

// Tokens is how many tokens each user was served within a sliding window: as estimated when a request was decided, and
// as the server reported once it ended. A user's total is the sum of input and output tokens, each times a weight. It
// decides of that user's requests alone. What users are compared with, see Range, goes by standing: what servers
// reported, of which a single request counts up to a bound.
//
// Users are known by hashes of their names. One without tokens in the window is forgotten. When there are too many, one
// that was never served makes way, else the one with the least standing, so that who invents names pushes out nobody
// but his own.
//
// With n users, Add, Take, Settle and Total take O(log n) steps, Range is O(1). Expire is O(1) but for once in a
// tokenSlots-th of the window, when it is O(n log n).
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

	// request bounds what one request adds to a standing.
	request float64
	// fresh ranks those without a standing by their totals, low and high the others by standing, with the least and
	// with the greatest first.
	fresh, low, high ranking
}

// NewTokens makes an empty one with a window, 0 for DefaultTokenWindow, for at most users, 0 for DefaultTokenUsers,
// with the weights of input and output tokens. seed is as for NewPrefix.
func NewTokens(window time.Duration, users int, input, output float64, seed uint64) *Tokens {
	if window <= 0 {
		window = DefaultTokenWindow
	}
	t := &Tokens{input: input, output: output, factor: splitMix(seed) | 1}
	t.width = max(int64(window)/tokenSlots, 1)
	t.limit = uint32(positive(users, DefaultTokenUsers))
	t.accounts.shift, t.request = tokenUserShift, math.Inf(1)
	t.fresh.init(tokenUserShift, 1)
	t.low.init(tokenUserShift, 1)
	t.high.init(tokenUserShift, -1)
	t.table.init()
	return t
}

// BoundRequest has one request add so much to a standing at most. To be called before anything is added.
func (t *Tokens) BoundRequest(most float64) { t.request = most }

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
	changed := false
	for k := range slots {
		at := (t.slot - k) % tokenSlots
		changed = a.all.empty(at) || changed
		changed = a.served.empty(at) || changed
	}
	if changed {
		t.rank(i, a)
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
		} else if s.leases.outlived(s.Event) {
			t.Serve(s.User, s.Time, s.InputTokens, s.OutputTokens)
		}
	}
}

// Add enters what a request of a user is expected to take, decided at a time. What is from before the window is passed
// over.
func (t *Tokens) Add(user uint64, at int64, input, output uint32) {
	t.add(user, at, input, output, false)
}

// Serve enters what a server reports that it served a user, at a time.
func (t *Tokens) Serve(user uint64, at int64, input, output uint32) {
	t.add(user, at, input, output, true)
}

func (t *Tokens) add(user uint64, at int64, input, output uint32, served bool) {
	slot := min(t.clock.at(at)/t.width, t.slot)
	if user == 0 || input == 0 && output == 0 || slot < 0 || slot <= t.slot-tokenSlots {
		return
	}
	i := t.find(user)
	if i == 0 {
		i = t.enter(user)
	}
	a := t.accounts.at(i)
	a.all.add(slot%tokenSlots, input, output)
	if served {
		if weight := t.weigh(uint64(input), uint64(output)); weight > t.request {
			input, output = uint32(float64(input)*t.request/weight), uint32(float64(output)*t.request/weight)
		}
		a.served.add(slot%tokenSlots, input, output)
	}
	t.rank(i, a)
}

// Take takes back what Add entered at a time by the clock, as far as it is still there.
func (t *Tokens) Take(user uint64, at int64, input, output uint32) {
	i := t.find(user)
	if i == 0 {
		return
	}
	a := t.accounts.at(i)
	// What was told before Expire told of its slot is in one before it.
	for slot := min(at/t.width, t.slot); (input > 0 || output > 0) && slot >= 0 && slot > t.slot-tokenSlots; slot-- {
		input, output = a.all.take(slot%tokenSlots, input, output)
	}
	t.rank(i, a)
}

// Settle replaces the estimate of a request, decided at a time by the clock, by what its completion reports. A
// completion that reports nothing leaves the estimate, unless the server refused the request; one that reports output
// alone leaves that of the input.
func (t *Tokens) Settle(e *journal.Event, decided int64, input, output uint32) {
	reported := e.InputTokens != 0 || e.OutputTokens != 0
	if !reported && e.Status < 400 {
		return
	}
	// What is reported comes first, so that a user with this one request is not forgotten in between.
	served := e.InputTokens
	if reported && served == 0 {
		served = input
	}
	t.Serve(e.User, e.Time, served, e.OutputTokens)
	t.Take(e.User, decided, input, output)
}

// Total is a user's weighted sum of tokens.
func (t *Tokens) Total(user uint64) float64 {
	if i := t.find(user); i != 0 {
		return t.accounts.at(i).total
	}
	return 0
}

// Range is the least and the greatest positive standing of any user; ok is false when there is none.
func (t *Tokens) Range() (least, most float64, ok bool) {
	if t.high.first() == 0 {
		return 0, 0, false
	}
	return t.accounts.at(t.low.first()).standing, t.accounts.at(t.high.first()).standing, true
}

// Users is the number of users with tokens in the window.
func (t *Tokens) Users() int { return int(t.table.used) }

// MemoryBytes is the memory that it holds.
func (t *Tokens) MemoryBytes() int {
	return t.table.memory() + t.accounts.memory() + t.fresh.memory() + t.low.memory() + t.high.memory()
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

// dropLeast drops the account that is missed least.
func (t *Tokens) dropLeast() {
	i := t.fresh.first()
	if i == 0 {
		i = t.low.first()
	}
	t.drop(i, t.accounts.at(i))
}

func (t *Tokens) drop(i uint32, a *account) {
	t.fresh.remove(i)
	t.low.remove(i)
	t.high.remove(i)
	*a = account{}
	t.table.remove(i)
}

func (t *Tokens) weigh(input, output uint64) float64 {
	return float64(input)*t.input + float64(output)*t.output
}

// rank brings an account up to date after a change, and drops it when nothing is left in it.
func (t *Tokens) rank(i uint32, a *account) {
	if a.all.input == 0 && a.all.output == 0 {
		t.drop(i, a)
		return
	}
	a.total, a.standing = t.weigh(a.all.input, a.all.output), t.weigh(a.served.input, a.served.output)
	if a.standing == 0 {
		t.low.remove(i)
		t.high.remove(i)
		t.fresh.set(i, a.total, a.id)
		return
	}
	t.fresh.remove(i)
	t.low.set(i, a.standing, a.id)
	t.high.set(i, a.standing, a.id)
}
