// Package parsers are the plug-ins that say which requests can be read. The requests are read by one scanner,
// whatever is listed; a document that lists parsers has requests with a body at other paths refused with status 400
// and the reason no_parser.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package parsers

import (
	"strings"

	"github.com/pintle-dev/pintle/scoring"
)

// suffixes claims paths by their ends.
type suffixes []string

// Claims implements scoring.Parser.
func (s suffixes) Claims(path string) bool {
	for _, suffix := range s {
		if strings.HasSuffix(path, suffix) {
			return true
		}
	}
	return false
}

var _ scoring.Parser = suffixes(nil)
