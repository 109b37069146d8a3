package openai

import "bytes"

// BillingHeader begins what Claude Code puts in front of its system text. A hash in it differs from request to request,
// so vLLM keeps it out of prompts: a block of system text that begins with it as a whole
// (vllm/entrypoints/anthropic/serving.py), of other system text its first line (vllm/renderers/chat_utils.py). That
// goes by parts of type text, so in the Responses API only for text that is a string.
const BillingHeader = "x-anthropic-billing-header"

// KeepBilling has scans leave BillingHeader in prompts, as SGLang's servers do
// (sglang/srt/entrypoints/anthropic/request_conversion.py).
func (r *Request) KeepBilling(keep bool) {
	if r.state == nil {
		r.state = new(state)
	}
	r.state.keepsBilling = keep
}

// unbill takes the billing header out of each text of the system's among the segments from first on: the line, or if
// whole is set all of the text.
func (s *scanner) unbill(first int, whole bool) {
	if s.keepsBilling {
		return
	}
	kept := s.segments[:first]
	for i := first; i < len(s.segments); i++ {
		seg := &s.segments[i]
		if seg.Kind == SegmentText && seg.Role == RoleSystem && s.billed(seg) && !s.cutHeader(seg, whole) {
			continue
		}
		kept = append(kept, *seg)
	}
	s.segments = kept
}

// billed reports whether the text of a segment begins with the billing header.
func (s *scanner) billed(seg *Segment) bool {
	raw := s.body[seg.Start:seg.End]
	switch {
	case len(raw) < len(BillingHeader) || raw[0] != BillingHeader[0] && raw[0] != '\\':
		return false
	case seg.Escaped:
		raw = AppendUnescaped(s.buffer[:0], raw, len(BillingHeader))
	default:
		raw = raw[:len(BillingHeader)]
	}
	return view(raw) == BillingHeader
}

// cutHeader takes the first line from a segment and its size from the counts, or if whole is set all of it. False means
// that nothing is left.
func (s *scanner) cutHeader(seg *Segment, whole bool) bool {
	raw := s.body[seg.Start:seg.End]
	n, ended := 0, false
	for n < len(raw) && !ended {
		if raw[n] != '\\' {
			if raw[n]&0xc0 != 0x80 {
				s.sum.chars--
			}
			s.sum.bytes--
			n++
			continue
		}
		r, size := escapeAt(raw, n)
		s.sum.chars--
		s.sum.bytes -= utf8Size(r)
		n += size
		ended = r == '\n' && !whole
	}
	seg.Start += uint32(n)
	seg.Escaped = bytes.IndexByte(raw[n:], '\\') >= 0
	return n < len(raw)
}
