package journal

const (
	maxPeers      = 1024
	expectedPeers = 64
	// healTicks is for how many ticks on end the head must be damaged before it is replaced.
	healTicks = 3
)

// peers knows which instances have leases open and when each was last heard of. Time is the sum of the steps between
// ticks, none of them below 0 or above a quarter of DeadAfter: a clock that is set, or a process that was stopped,
// makes nobody look dead.
type peers struct {
	known []peer
	last  int

	// active is whether this VM has written, open how many leases of it are open, wroteAt when it last wrote.
	active  bool
	open    uint32
	wroteAt int64

	elapsed, clock int64
	ticked         bool
}

type peer struct {
	instance uint64
	heard    int64
	open     uint32
	// relayed is set for one of another process.
	relayed bool
}

func (p *peers) init() { p.known = make([]peer, 0, expectedPeers) }

// wrote notes an event of this VM.
func (p *peers) wrote(kind Kind) {
	p.active = true
	p.wroteAt = p.elapsed
	switch kind {
	case Decision:
		p.open++
	case Completion:
		p.open -= min(1, p.open)
	}
}

// read notes an event that was read.
func (p *peers) read(e *Event, own uint64) {
	if e.Instance == own {
		if e.Kind == Gone {
			p.open = 0
		}
		return
	}
	i := p.find(e.Instance)
	if e.Kind == Gone {
		if i < len(p.known) {
			p.remove(i)
		}
		return
	}
	if i == len(p.known) {
		i = p.add(e.Instance)
	}
	at := &p.known[i]
	at.heard, at.relayed = p.elapsed, e.Relayed
	switch e.Kind {
	case Decision:
		at.open++
	case Completion:
		at.open -= min(1, at.open)
	}
}

func (p *peers) find(instance uint64) int {
	if p.last < len(p.known) && p.known[p.last].instance == instance {
		return p.last
	}
	for i := range p.known {
		if p.known[i].instance == instance {
			p.last = i
			return i
		}
	}
	return len(p.known)
}

// add makes room by forgetting who was silent longest.
func (p *peers) add(instance uint64) int {
	if len(p.known) == maxPeers {
		silent := 0
		for i := range p.known {
			if p.known[i].heard < p.known[silent].heard {
				silent = i
			}
		}
		p.remove(silent)
	}
	p.known = append(p.known, peer{instance: instance})
	p.last = len(p.known) - 1
	return p.last
}

func (p *peers) remove(i int) {
	end := len(p.known) - 1
	p.known[i] = p.known[end]
	p.known = p.known[:end]
}

func (p *peers) tick(now, deadAfter int64) {
	if p.ticked {
		p.elapsed += min(max(now-p.clock, 0), deadAfter/4)
	}
	p.clock, p.ticked = now, true
}

// Tick lets the journal tell the others that this VM lives, when it has leases open and has been silent for a third of
// DeadAfter, and declare gone who has not been heard of. now is nanoseconds since 1970; when it steps back no time
// passes. Call it every second or so, after Next returned nil. A VM that never wrote writes nothing here.
func (j *Journal) Tick(now int64) {
	p := &j.peers
	p.tick(now, j.deadAfter)
	if !p.active {
		return
	}
	j.heal()
	j.expire(now)
	if p.open > 0 && p.elapsed-p.wroteAt >= j.deadAfter/3 &&
		j.write(&Event{Kind: Alive, Time: now, Instance: j.instance}, nil) {
		p.wrote(Alive)
	}
}

// expire declares gone who was silent too long. It writes the verdict only as the very next event to what it has read,
// so that there is one verdict for each death and none on an instance that has just been heard of.
func (j *Journal) expire(now int64) {
	p := &j.peers
	next := j.reader.seq
	for i := 0; i < len(p.known); i++ {
		silent := &p.known[i]
		if p.elapsed-silent.heard < j.deadAfter {
			continue
		}
		if silent.open == 0 {
			p.remove(i)
			i--
			continue
		}
		if !j.write(&Event{Kind: Gone, Time: now, Instance: silent.instance, Relayed: silent.relayed}, &next) {
			return
		}
		next++
	}
}

// heal begins a new log in the place of a head that has been damaged for some ticks. Nothing of the journal damages it.
func (j *Journal) heal() {
	r := &j.reader
	if !r.damaged {
		r.damagedTicks = 0
		return
	}
	if r.damagedTicks++; r.damagedTicks < healTicks {
		return
	}
	value, change, ok := j.store.Get(headKey)
	if _, valid := parsePage(value); ok && !valid {
		j.create(change)
	}
	r.damaged = false
}
