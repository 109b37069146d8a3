package openai

import "bytes"

// SetCacheSalt has the request's prompt kept apart in the servers' caches by salt, whatever the client sent. salt must
// not change until the next Scan.
func (r *Request) SetCacheSalt(salt []byte) { r.CacheSalt, r.salted = view(salt), true }

// AppendRewritten appends the beginning of the scanned body as it shall leave, with another model where the body names
// one and with the salt that SetCacheSalt gave, up to where the rest is as it came; end is where that begins in body.
// Without anything to change end is 0 and nothing is appended. Of a key that is there twice the last value changes,
// which is the one that counts.
func (r *Request) AppendRewritten(dst, body []byte, model string) (rewritten []byte, end int) {
	names := r.HasModel && model != r.Model
	salts, inserts := r.salted, r.SaltSpan.End == 0
	at := r.SaltSpan
	if inserts {
		first := uint32(bytes.IndexByte(body, '{') + 1)
		at = Span{Start: first, End: first}
	}
	for names || salts {
		if salts && (!names || at.Start < r.ModelSpan.Start) {
			dst = append(dst, body[end:at.Start]...)
			dst, end = r.appendSalt(dst, inserts, body[at.End:]), int(at.End)
			salts = false
			continue
		}
		dst = append(dst, body[end:r.ModelSpan.Start]...)
		dst, end = AppendQuoted(dst, model), int(r.ModelSpan.End)
		names = false
	}
	return dst, end
}

// appendSalt appends the salt, with its key where that is to be inserted as the first one in front of rest.
func (r *Request) appendSalt(dst []byte, inserts bool, rest []byte) []byte {
	if !inserts {
		return AppendQuoted(dst, r.CacheSalt)
	}
	dst = AppendQuoted(append(dst, `"cache_salt":`...), r.CacheSalt)
	if rest = bytes.TrimLeft(rest, " \t\r\n"); len(rest) > 0 && rest[0] == '}' {
		return dst
	}
	return append(dst, ',')
}
