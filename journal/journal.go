package journal

import "time"

// Store is the data that all workers share, as Envoy offers it to a plug-in. The key is valid during the call only.
type Store interface {
	// Get returns a key's value, valid until the next Get, and the number of its last change, never 0; ok is false when
	// it was never set.
	Get(key string) (value []byte, change uint32, ok bool)
	// Set sets a key. With a change other than 0 it fails when the key exists and that is not its last change.
	Set(key string, value []byte, change uint32) (ok bool)
}

// Defaults of Options.
const (
	DefaultSlots     = 2048
	DefaultDeadAfter = 30 * time.Second
)

// Options configure a journal.
type Options struct {
	// Instance identifies this VM: a random number, not 0.
	Instance uint64
	// Slots is how many full pages the log keeps, a power of two from 4 to 65,536; 0 is DefaultSlots. A page holds 8
	// KiB of events and a bit: 4 decisions of 256 blocks, 21 of 30 blocks, or 54 completions. Whoever writes the first
	// event decides for all.
	Slots int
	// DeadAfter is how long an instance with open leases may be silent before it is declared gone; 0 is
	// DefaultDeadAfter.
	DeadAfter time.Duration
}

// Error is why options were refused.
type Error string

// Error implements error.
func (e Error) Error() string { return string(e) }

// The reasons for which New fails.
const (
	ErrInstance  = Error("journal: instance 0, must be a random number other than 0")
	ErrSlots     = Error("journal: slots must be a power of two from 4 to 65536")
	ErrDeadAfter = Error("journal: deadAfter must not be negative")
)

// Stats count what a journal did. They wrap around.
type Stats struct {
	// Appended events were written, Failed ones were not. Conflicts are attempts to write in which another VM was
	// faster, but for those that went by what Poll had seen.
	Appended, Failed, Conflicts uint64
	// Delivered events were returned by Next, Missed ones had been overwritten or damaged before they could be read.
	Delivered, Missed uint64
	// Corrupt counts values that were not what the log must hold there, Restarts how often the log began anew.
	Corrupt, Restarts uint64
}

// Journal is one VM's access to the log. It is not safe for concurrent use; each VM has its own over the shared Store.
// After New nothing allocates, but for the table of peers when it grows.
type Journal struct {
	store     Store
	instance  uint64
	slots     uint32
	deadAfter int64
	stats     Stats
	lease     uint32
	created   uint64
	held      held
	// next is scratch memory for the new head page, written is its header.
	next    []byte
	written page
	// polled is the change at which next holds the head page that the last Poll saw, 0 when it holds something else.
	polled uint32
	key    slotKey
	// relayed is scratch memory for events of other processes, nil before the first.
	relayed *Event

	reader reader
	peers  peers
}

// maxAttempts bounds how often an append tries again. Each failure means that another VM's append went through.
const maxAttempts = 1000

// New returns a journal over store. It touches the store only when used: a VM that never handles requests costs
// nothing.
func New(store Store, o Options) (*Journal, error) {
	if o.Slots == 0 {
		o.Slots = DefaultSlots
	}
	if o.DeadAfter == 0 {
		o.DeadAfter = DefaultDeadAfter
	}
	if o.Instance == 0 {
		return nil, ErrInstance
	}
	if o.Slots < 0 || o.Slots > maxSlots || !validSlots(uint32(o.Slots)) {
		return nil, ErrSlots
	}
	if o.DeadAfter < 0 {
		return nil, ErrDeadAfter
	}
	j := &Journal{
		store: store, instance: o.Instance, slots: uint32(o.Slots), deadAfter: int64(o.DeadAfter),
		held: held{records: make([]byte, 0, mostHeldBytes+maxRecordBytes)}, next: make([]byte, 0, maxPageBytes),
	}
	j.reader.init()
	j.peers.init()
	return j, nil
}

// Instance returns the VM's number.
func (j *Journal) Instance() uint64 { return j.instance }

// Stats returns the counts so far.
func (j *Journal) Stats() Stats { return j.stats }

// NextLease returns the number for the next decision of this VM. It is never 0 and comes again after 2^32 - 1
// decisions.
func (j *Journal) NextLease() uint32 {
	j.lease++
	if j.lease == 0 {
		j.lease++
	}
	return j.lease
}

// Append writes a Decision, a Completion, a Began or a Refused of this VM and sets its Instance. Every VM reads it,
// this one too: Next returns it in its place. ok is false when the store does not take it or e is of another kind;
// nobody will then read it. It may be called between two calls of Next and does not disturb them.
func (j *Journal) Append(e *Event) (ok bool) {
	ok, _ = j.append(e, false)
	return ok
}

// AppendRead is Append for who has read all that the last Poll saw, and applies e himself. read is set where e, and
// what was held back, stand right behind that: Next then does not return them. Else it does, in their place.
func (j *Journal) AppendRead(e *Event) (ok, read bool) { return j.append(e, true) }

func (j *Journal) append(e *Event, pass bool) (ok, passed bool) {
	e.Instance = j.instance
	switch e.Kind {
	case Decision, Completion, Began, Refused:
	default:
		return false, false
	}
	j.add(e, maxRecordBytes)
	if ok, passed = j.writeHeld(pass); ok {
		j.peers.wrote(e.Kind)
	}
	return ok, passed
}

// write appends e by itself. With an only it does so only if that is the sequence number that e gets.
func (j *Journal) write(e *Event, only *uint64) bool {
	before := len(j.held.records)
	records := appendRecord(j.held.records, e)
	j.held.records = records[:before]
	ok, _ := j.put(records[before:], 1, only)
	return ok
}

// put appends records. polled is set when they went onto the page that the last Poll has read.
func (j *Journal) put(records []byte, count uint32, only *uint64) (ok, polled bool) {
	if only == nil && j.putPolled(records, count) {
		return true, true
	}
	for range maxAttempts {
		value, change, ok := j.store.Get(headKey)
		if !ok {
			j.create(absent)
			continue
		}
		head, ok := parsePage(value)
		j.reader.damaged = !ok
		if !ok {
			j.stats.Corrupt++
			break
		}
		if only != nil && (head.epoch != j.reader.head.epoch || head.end() != *only) {
			return false, false
		}
		j.extend(head, value, records, count)
		if j.store.Set(headKey, j.next, change) {
			j.stats.Appended += uint64(count)
			return true, false
		}
		j.stats.Conflicts++
	}
	j.stats.Failed += uint64(count)
	return false, false
}

// putPolled appends records to the page that the last Poll has read, which spares a Get, and fails when that is no
// longer the newest. A full page it leaves alone: since that Poll the ring may have gone round, and the page's slot
// hold a later one.
func (j *Journal) putPolled(records []byte, count uint32) bool {
	change := j.polled
	if change == 0 || j.reader.head.full() {
		return false
	}
	j.extend(j.reader.head, j.next, records, count)
	if !j.store.Set(headKey, j.next, change) {
		return false
	}
	j.stats.Appended += uint64(count)
	return true
}

// extend makes j.next the page that follows from the head page by records, of maxRecordBytes at most: the same page
// with them at the end, or a new one when it is full. The full page goes into its slot first. Whoever else finds it
// full, however late, writes the same bytes there; that a page with room is never put in a slot is what makes it so.
func (j *Journal) extend(head page, value, records []byte, count uint32) {
	head = j.open(head, value)
	j.next = append(j.next, records...)
	head.count += count
	head.length += uint32(len(records))
	head.put(j.next)
	j.written = head
}

// open makes j.next the page that records go to: the head page, or an empty one behind it.
func (j *Journal) open(head page, value []byte) page {
	j.polled = 0
	if head.full() {
		j.store.Set(j.key.of(&head, head.number), value, 0)
		value = value[:headerBytes]
		head = page{slots: head.slots, epoch: head.epoch, number: head.number + 1, first: head.end()}
	}
	j.next = append(j.next[:0], value...)
	return head
}

// absent is a change that no key is at: the store counts changes from 1 and creates the head near the beginning. With
// it, Set does nothing to a key that exists, so that of two VMs that create the head only one does.
const absent = ^uint32(0)

// create begins a log.
func (j *Journal) create(change uint32) bool {
	j.created++
	j.polled = 0
	head := page{slots: j.slots, epoch: j.instance + j.created}
	j.next = j.next[:headerBytes]
	head.put(j.next)
	return j.store.Set(headKey, j.next, change)
}
