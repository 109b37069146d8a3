package engine

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/selector"
)

// Parser reads the pages of one endpoint. It keeps scratch memory and the adapter lists of the last page, so that
// reading a page allocates nothing unless the adapters changed. Not for concurrent use.
type Parser struct {
	engine  *Engine
	series  series
	sums    []accumulator // one for each rule
	running adapters
	waiting adapters
}

// accumulator gathers a rule's series.
type accumulator struct {
	count int
	total float64
	time  float64 // of the newest series
	text  []byte  // the newest or first series' label
	ranks [maxRanks / 64]uint64
}

// maxRanks bounds the data-parallel ranks that are told apart; those above count as the first.
const maxRanks = 256

// NewParser returns a parser for pages of e.
func NewParser(e *Engine) *Parser {
	return &Parser{engine: e, sums: make([]accumulator, len(e.rules))}
}

// Parse reads page into s and returns the fields that it found. Of the others, Waiting, Running and KVUsage keep what s
// holds, because a gap is no sign of an idle server; the rest become unknown. It keeps no reference to page.
func (p *Parser) Parse(page []byte, s *Sample) Fields {
	for i := range p.sums {
		a := &p.sums[i]
		*a = accumulator{text: a.text[:0]}
	}
	for len(page) > 0 {
		line := page
		if end := bytes.IndexByte(page, '\n'); end >= 0 {
			line, page = page[:end], page[end+1:]
		} else {
			page = nil
		}
		p.line(skipBlanks(line))
	}
	s.KVBlockTokens, s.KVBlocks, s.MaxLoRA, s.MaxRunning, s.ProcessStart, s.Done = 0, 0, 0, 0, 0, 0
	s.RunningLoRA, s.WaitingLoRA = nil, nil
	s.Attributes, s.AttributesKnown = [MaxAttributes]float64{}, 0
	var found Fields
	for i := range p.sums {
		r := &p.engine.rules[i]
		switch {
		case p.sums[i].count == 0 || found.Has(r.field) != r.waitsToo:
		case r.waitsToo:
			s.WaitingRequests = toCount(float64(s.WaitingRequests) + p.sums[i].total)
		case p.store(r, &p.sums[i], s):
			found |= 1 << r.field
		}
	}
	return found
}

func (p *Parser) line(line []byte) {
	if !begins(line, p.engine.prefix) && !begins(line, processStart) && len(p.engine.attributes) == 0 {
		return
	}
	for _, metric := range p.engine.metrics {
		n := len(metric)
		// The first byte that no name can have ends it: a value may follow at once, as in name+1.
		if len(line) <= n || selector.IsNameByte(line[n]) || line[n] == ':' || string(line[:n]) != metric {
			continue
		}
		if p.series.read(line[n:]) {
			p.add(metric)
		}
		return
	}
}

func begins(line []byte, prefix string) bool {
	return len(line) > len(prefix) && string(line[:len(prefix)]) == prefix
}

// add hands the series just read to the rules of its metric.
func (p *Parser) add(metric string) {
	for i := range p.engine.rules {
		r := &p.engine.rules[i]
		if r.metric != metric || !p.series.has(r.matches) || r.part != "" && p.series.is(r.part) {
			continue
		}
		value, text := p.series.value, []byte(nil)
		if r.label != "" {
			var ok bool
			if text, ok = p.series.label(r.label); !ok {
				continue
			}
		}
		if r.combine != ranks || p.sums[i].isNew(p.series.rank()) {
			p.sums[i].add(r, value, text)
		}
	}
}

// is reports whether the series has a value in that label.
func (s *series) is(name string) bool {
	value, _ := s.label(name)
	return len(value) > 0
}

// rank is the series' data-parallel rank, 0 for none.
func (s *series) rank() (n int) {
	value, _ := s.label("dp_rank")
	for _, c := range value {
		if c < '0' || c > '9' || n >= maxRanks {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	if n >= maxRanks {
		return 0
	}
	return n
}

// isNew reports whether no series of that rank came before.
func (a *accumulator) isNew(rank int) bool {
	word, bit := &a.ranks[rank/64], uint64(1)<<(rank%64)
	known := *word&bit != 0
	*word |= bit
	return !known
}

// has reports whether the series has every one of those labels. One that is not there is one without a value, as in
// PromQL. A value with an escape matches none.
func (s *series) has(matches []match) bool {
	for i := range matches {
		if value, _ := s.label(matches[i].name); string(value) != matches[i].value {
			return false
		}
	}
	return true
}

func (s *series) label(name string) (value []byte, ok bool) {
	for i := range s.labels {
		if string(s.labels[i].name) == name {
			return s.labels[i].value, true
		}
	}
	return nil, false
}

func (a *accumulator) add(r *rule, value float64, text []byte) {
	switch r.combine {
	case newest:
		if a.count > 0 && value <= a.time {
			return
		}
		a.time = value
		a.text = appendUnescaped(a.text[:0], text)
		a.count++
		return
	case first:
		if a.count > 0 {
			return
		}
	}
	number := value
	if r.label != "" {
		var ok bool
		if number, ok = parseFloat(text); !ok {
			return
		}
	}
	if r.field == KVUsage {
		number = min(max(number, 0), 1)
	}
	a.total += number
	a.count++
}

// store sets the rule's field and reports whether the page had it in a readable form.
func (p *Parser) store(r *rule, a *accumulator, s *Sample) bool {
	if r.field == MaxLoRA {
		number, ok := parseFloat(a.text)
		if !ok {
			return false
		}
		a.total = number
	}
	switch r.field {
	case Waiting:
		s.WaitingRequests = toCount(a.total)
	case Running:
		s.RunningRequests = toCount(a.total)
	case KVUsage:
		s.KVCacheUsage = min(a.total/float64(a.count), 1)
	case KVBlockTokens:
		s.KVBlockTokens = toCount(a.total)
	case KVBlocks:
		s.KVBlocks = toCount(a.total)
	case MaxLoRA:
		s.MaxLoRA = toCount(a.total)
	case RunningLoRA:
		s.RunningLoRA = p.running.update(a.text)
	case WaitingLoRA:
		s.WaitingLoRA = p.waiting.update(a.text)
	case MaxRunning:
		s.MaxRunning = toCount(a.total)
	case ProcessStart:
		s.ProcessStart = toMillis(a.total)
		return s.ProcessStart != 0
	case Done:
		s.Done = a.total
	default:
		s.Attributes[r.field-Attribute] = a.total
		s.AttributesKnown |= 1 << (r.field - Attribute)
	}
	return true
}

// toMillis turns seconds into milliseconds. What is no time of day of a computer's is 0.
func toMillis(seconds float64) uint64 {
	const first, last = 1e6, 1e11 // of 1970 and of the year 5138
	if seconds < first || seconds > last {
		return 0
	}
	return uint64(math.Round(seconds * 1000))
}

// toCount rounds to the nearest count that fits.
func toCount(f float64) uint32 {
	return uint32(math.Round(min(max(f, 0), math.MaxUint32)))
}

// adapters is a list of names and the text that it was made from.
type adapters struct {
	text  []byte
	names []string
}

// maxAdapters and maxAdapterBytes bound what one page can put into every snapshot.
const (
	maxAdapters     = 1024
	maxAdapterBytes = 512
)

// update returns the comma-separated names in text, without blanks around them. Empty ones, repetitions, names that are
// not UTF-8 or over 512 bytes, and those after the first 1,024 are left out. Its time is linear in the length of text.
func (a *adapters) update(text []byte) []string {
	if bytes.Equal(a.text, text) {
		return a.names
	}
	a.text = append(a.text[:0], text...)
	a.names = nil
	seen := map[string]bool{}
	for name := range strings.SplitSeq(string(text), ",") {
		name = strings.TrimSpace(name)
		if len(a.names) == maxAdapters {
			break
		}
		fits := name != "" && len(name) <= maxAdapterBytes && utf8.ValidString(name)
		if fits && !seen[name] {
			seen[name] = true
			a.names = append(a.names, name)
		}
	}
	return a.names
}
