package address

import (
	"strconv"
	"strings"
	"time"
)

// option is one that may stand in a URL's query.
type option struct {
	name string
	kind kind
}

// kind is the kind of an option's value.
type kind uint8

const (
	aText kind = iota
	aNumber
	aCount // a number that is not negative
	aDuration
	aBool
	trueOrFalse
)

// allows reports whether a value, which is not empty, is of the kind.
func (k kind) allows(value string) bool {
	switch k {
	case aNumber, aCount:
		n, err := strconv.Atoi(value)
		return err == nil && (n >= 0 || k == aNumber)
	case aDuration:
		_, err := strconv.Atoi(value)
		if err != nil {
			_, err = time.ParseDuration(value)
		}
		return err == nil
	case aBool:
		return value == "true" || value == "false" || value == "1" || value == "0"
	case trueOrFalse:
		return value == "true" || value == "false"
	}
	return isEscaped(value)
}

// isEscaped reports whether each % of a text has two hexadecimal digits behind it.
func isEscaped(text string) bool {
	for {
		_, behind, ok := strings.Cut(text, "%")
		if !ok {
			return true
		}
		if len(behind) < 2 || strings.Trim(behind[:2], "0123456789abcdefABCDEF") != "" {
			return false
		}
		text = behind[2:]
	}
}
