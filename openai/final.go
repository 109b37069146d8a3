package openai

// Sink takes bytes that are kept.
type Sink interface{ Keep(b []byte) }

// Final finds the finished response in an answer of /v1/responses that passes by in chunks: a JSON body is it, and of
// a stream the data of the event response.completed or response.incomplete. Chunks may be split anywhere. The zero
// value is ready. It is no validator.
type Final struct {
	framing framing
	part    linePart
	wasCR   bool
	// wanted is set in an event that holds the response, kept once something of it was.
	wanted, kept bool
	done         bool
	size         int
	word         [maxWord]byte // the field's name, and then the event's
}

type linePart uint8

const (
	partField linePart = iota
	partEvent
	partData
	partOther
)

// Done reports whether the response has come. Of a JSON body it is never known before the end.
func (f *Final) Done() bool { return f.done }

// JSON reports whether the answer is a JSON body, so that its end is the response's.
func (f *Final) JSON() bool { return f.framing == framingJSON }

// Feed reads the next bytes of the answer and gives to what belongs to the response.
func (f *Final) Feed(chunk []byte, to Sink) {
	i := f.framing.find(chunk)
	if f.framing == framingJSON {
		to.Keep(chunk[i:])
		return
	}
	for i < len(chunk) && !f.done {
		if f.wasCR && chunk[i] == '\n' {
			f.wasCR = false
			i++
			continue
		}
		f.wasCR = false
		end := lineEnd(chunk, i)
		f.run(chunk[i:end], to)
		if i = end; i == len(chunk) {
			return
		}
		f.endLine()
		f.wasCR = chunk[i] == '\r'
		i++
	}
}

// run reads bytes of one line.
func (f *Final) run(b []byte, to Sink) {
	for i, c := range b {
		switch f.part {
		case partData:
			if f.wanted {
				to.Keep(b[i:])
				f.kept = true
			}
			return
		case partOther:
			return
		case partEvent:
			if c != ' ' || f.size > 0 {
				f.add(c)
			}
		case partField:
			if c == ':' {
				f.part = partNamed(view(f.word[:min(f.size, maxWord)]))
				f.size = 0
				continue
			}
			f.add(c)
		}
	}
}

func partNamed(field string) linePart {
	switch field {
	case "event":
		return partEvent
	case "data":
		return partData
	}
	return partOther
}

// add takes a byte of a word; one that is too long is cut to a length that none of the known has.
func (f *Final) add(c byte) {
	if f.size < maxWord {
		f.word[f.size] = c
	}
	f.size++
}

func (f *Final) endLine() {
	switch {
	case f.part == partEvent:
		name := view(f.word[:min(f.size, maxWord)])
		f.wanted = name == "response.completed" || name == "response.incomplete"
	case f.part == partField && f.size == 0:
		f.done = f.wanted && f.kept
		f.wanted = false
	}
	f.part, f.size = partField, 0
}
