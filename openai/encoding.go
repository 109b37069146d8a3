package openai

import "strings"

// Encodes reports whether a content-encoding names any coding but identity.
func Encodes(codings string) bool {
	for more := true; more; {
		var coding string
		coding, codings, more = strings.Cut(codings, ",")
		if coding = strings.Trim(coding, " \t"); coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
	return false
}
