package responses

import (
	"bytes"
	"errors"
	"strings"

	"github.com/tidwall/gjson"
)

// errTurn is a turn that cannot be stored: it is no finished response.
var errTurn = errors.New("is no finished response of the Responses API")

// newEntry makes an entry of a request's input, a JSON value or nothing, and of what the server answered: the response,
// or the event of a stream that holds it.
func newEntry(input, answer []byte, previous string) (*Entry, error) {
	if !gjson.ValidBytes(answer) || len(input) > 0 && !gjson.ValidBytes(input) {
		return nil, errTurn
	}
	response := gjson.ParseBytes(answer)
	if inner := response.Get("response"); inner.IsObject() &&
		strings.HasPrefix(response.Get("type").String(), "response.") {
		response = inner
	}
	// Without the answer that it is a part of.
	e := &Entry{ID: strings.Clone(response.Get("id").String()), Previous: previous}
	status := response.Get("status").String()
	if !response.IsObject() || !isID(e.ID) || !response.Get("output").IsArray() ||
		status != "completed" && status != "incomplete" {
		return nil, errTurn
	}
	e.Input = itemsOf(input)
	e.Response = withPrevious(strings.TrimSpace(response.Raw), previous)
	return e, nil
}

// itemsOf are the items of a request's input.
func itemsOf(input []byte) []byte {
	input = bytes.TrimSpace(input)
	if len(input) == 0 || input[0] == 'n' {
		return nil
	}
	if input[0] == '"' {
		return append(append([]byte(`{"type":"message","role":"user","content":`), input...), '}')
	}
	return bytes.Clone(inside(input))
}

// inside is what stands between the brackets of a list.
func inside(list []byte) []byte {
	if len(list) < 2 || list[0] != '[' {
		return nil
	}
	return bytes.TrimSpace(list[1 : len(list)-1])
}

// outputOf are the items of a response's output.
func outputOf(response []byte) []byte {
	output := gjson.GetBytes(response, "output")
	if output.Index == 0 {
		return nil
	}
	return inside(response[output.Index : output.Index+len(output.Raw)])
}

// withPrevious returns a response that refers to its predecessor.
func withPrevious(response, previous string) []byte {
	if previous == "" {
		return []byte(response)
	}
	if old := gjson.Get(response, "previous_response_id"); old.Index > 0 {
		return []byte(response[:old.Index] + `"` + previous + `"` + response[old.Index+len(old.Raw):])
	}
	return []byte(`{"previous_response_id":"` + previous + `",` + response[1:])
}

// isID reports whether id can be that of a stored response; it is the filter's rule.
func isID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0) {
			return false
		}
	}
	return id != "" && len(id) <= 256
}
