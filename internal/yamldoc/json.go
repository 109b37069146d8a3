package yamldoc

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// foreignEscape finds the escapes of a JSON text; those of a character beyond 16 bits are two that are one.
var foreignEscape = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\.`)

// withoutForeign returns a text of JSON without the escapes that YAML lacks, and any other text with line ends that do
// not make the library lose its comments. Lines stay.
func withoutForeign(text []byte) []byte {
	if !json.Valid(text) {
		return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	return foreignEscape.ReplaceAllFunc(text, func(escape []byte) []byte {
		character := ""
		if len(escape) == 2 && escape[1] != '/' || json.Unmarshal([]byte(`"`+string(escape)+`"`), &character) != nil {
			return escape
		}
		return []byte(character)
	})
}
