package openai

import "unicode/utf8"

const hexLower = "0123456789abcdef"

// AppendQuoted appends name as a JSON string, quotes included, so that it can replace the bytes of ModelSpan. Invalid
// UTF-8 becomes U+FFFD. Every control character is escaped, U+007F too, so that the result may stand in a header.
func AppendQuoted(dst []byte, name string) []byte {
	dst = append(dst, '"')
	for _, r := range name {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < 0x20 || r == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hexLower[r>>4], hexLower[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
