package journal

import "encoding/binary"

// Answer is what Envoy tells a follower, as it came; see Answerer.
type Answer struct {
	// Names and Topology change when what they stand for does.
	Names    uint32
	Topology uint64
	// Epoch is the log's, 0 when there is none.
	Epoch uint64
	// More says that there is more to be had at once.
	More bool
	// Kept is the position that was kept last, in this log; the zero value is none.
	Kept  Position
	parts []byte
}

// ParseAnswer reads an answer's header. It aliases src.
func ParseAnswer(src []byte) (a Answer, ok bool) {
	if len(src) < answerHeaderBytes || binary.LittleEndian.Uint32(src) != answerMagic {
		return Answer{}, false
	}
	return Answer{
		Names: binary.LittleEndian.Uint32(src[4:]), Topology: binary.LittleEndian.Uint64(src[8:]),
		Epoch: binary.LittleEndian.Uint64(src[16:]),
		More:  binary.LittleEndian.Uint32(src[24:])&flagMore != 0, Kept: readPosition(src[32:]),
		parts: src[answerHeaderBytes:],
	}, true
}

// Follower reads the answers that it gets of one process, and knows where it stands in its log. It is not safe for
// concurrent use. The zero value has read nothing.
type Follower struct {
	// Signs has it deliver events of the kind Alive, too.
	Signs bool

	at    Position
	since Position
	event Event
	gap   Event
	stats FollowerStats
}

// FollowerStats count what a Follower did.
type FollowerStats struct {
	// Events were delivered, Missed ones had been overwritten or damaged before they could be read.
	Events, Missed uint64
	// Restarts is how often the log began anew, as the process did. What the former log held last, nobody knows.
	Restarts uint64
}

// At is where the follower stands. Its Epoch is 0 before the first answer that has a log.
func (f *Follower) At() Position { return f.at }

// Resume has the follower go on at a position.
func (f *Follower) Resume(at Position) { f.at = at }

// Since has the events of a log that it has not read before count as missed from a position on, to which somebody else
// had come: those that the log no longer has.
func (f *Follower) Since(p Position) { f.since = p }

// Stats returns the counts so far.
func (f *Follower) Stats() FollowerStats { return f.stats }

// Read calls each with the events of an answer, in their order, and with a Missed where some are lost. The answer
// begins where the follower stands, or before. at is where the event stands. The event is valid during the call. What
// is no part of a log ends the answer; the next one tells how much that cost.
func (f *Follower) Read(a *Answer, each func(e *Event, at Position)) {
	fresh := f.at.Epoch != a.Epoch
	if a.Epoch == 0 {
		return
	}
	if fresh {
		if f.at.Epoch != 0 {
			f.stats.Restarts++
		}
		f.at = Position{Epoch: a.Epoch}
	}
	for parts := a.parts; len(parts) >= partHeaderBytes; {
		offset, length := binary.LittleEndian.Uint32(parts), binary.LittleEndian.Uint32(parts[4:])
		if uint64(length) > uint64(len(parts)-partHeaderBytes) || offset > maxPageBytes {
			return
		}
		p, ok := parsePageHeader(parts[8:partHeaderBytes])
		if !ok || p.epoch != a.Epoch || offset+length != p.length {
			return
		}
		f.readPart(&p, offset, parts[partHeaderBytes:partHeaderBytes+length], fresh, each)
		parts = parts[partHeaderBytes+length:]
		fresh = false
	}
}

// readPart reads the rest of a page from an offset on. Of a fresh log it may begin anywhere.
func (f *Follower) readPart(p *page, offset uint32, records []byte, fresh bool, each func(e *Event, at Position)) {
	known := p.number == f.at.Page && offset < f.at.Offset && !fresh // the first records have been read
	switch {
	case p.number < f.at.Page:
		return // read before
	case known:
		records = records[min(int(f.at.Offset-offset), len(records)):]
	case offset == 0:
		since := fresh && f.since.Epoch == p.epoch
		if since {
			f.at.Seq = f.since.Seq
		}
		if since || !fresh {
			f.skipTo(p.first, each)
		}
		f.at = Position{Epoch: p.epoch, Page: p.number, Seq: p.first}
	case p.number != f.at.Page || offset != f.at.Offset:
		return // of a position that nobody asked for
	}
	for len(records) > 0 {
		size, ok := decodeRecord(&f.event, records)
		if !ok {
			f.skipTo(p.end(), each)
			f.at.Offset = p.length
			return
		}
		at := f.at
		records = records[size:]
		f.at.Offset += uint32(size)
		f.at.Seq++
		if f.event.Kind.delivered() || f.Signs && f.event.Kind == Alive {
			f.stats.Events++
			each(&f.event, at)
		}
	}
}

// skipTo makes seq the next event's number; those before it are missed.
func (f *Follower) skipTo(seq uint64, each func(e *Event, at Position)) {
	n := seq - f.at.Seq
	if int64(n) <= 0 {
		return
	}
	f.stats.Missed += n
	f.gap = Event{Kind: Missed, Missed: n}
	each(&f.gap, f.at)
	f.at.Seq = seq
}
