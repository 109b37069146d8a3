package responses

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
)

// talk is a random conversation, as a client that keeps it itself would have it.
type talk struct {
	*rand.Rand
	items []any
}

func (k *talk) text() string {
	letters := []string{"a", " ", `"`, `\`, "\n", "/", "[", "]", "{", "}", ",", ":", "\u00e9", "\U0001f600", "\u2028",
		`","previous_response_id":"r"`}
	var b strings.Builder
	for range k.IntN(6) {
		b.WriteString(letters[k.IntN(len(letters))])
	}
	return b.String()
}

// item is one of an input or an output: a message, a call of a tool, what came of it, thoughts.
func (k *talk) item() any {
	switch k.IntN(4) {
	case 0:
		return map[string]any{"type": "function_call", "call_id": k.text(), "name": "f", "arguments": "{" + k.text()}
	case 1:
		return map[string]any{"type": "function_call_output", "call_id": k.text(), "output": k.text()}
	case 2:
		return map[string]any{"type": "reasoning", "summary": []any{}, "encrypted_content": nil, "n": k.Float64()}
	}
	parts := []any{map[string]any{"type": "input_text", "text": k.text()},
		map[string]any{"type": "input_image", "image_url": "https://example.com/" + k.text(), "detail": "auto"}}
	return map[string]any{"type": "message", "role": "user", "content": parts[:k.IntN(3)]}
}

func (k *talk) list() []any {
	all := make([]any, k.IntN(3))
	for i := range all {
		all[i] = k.item()
	}
	return all
}

// write is a value with white space as it comes.
func (k *talk) write(v any) string {
	text, _ := json.Marshal(v)
	if k.IntN(3) == 0 {
		text, _ = json.MarshalIndent(v, " ", "\t")
	}
	return string(text)
}

// request makes the next turn's body, and adds its input to the conversation.
func (k *talk) request(previous string) (body string, want map[string]any) {
	want = map[string]any{"model": "m", "metadata": map[string]any{k.text(): k.text()}}
	members := []string{`"model":"m"`, `"metadata": ` + k.write(want["metadata"])}
	if previous != "" {
		members = append(members, `"previous_response_id" : "`+previous+`"`)
	}
	switch k.IntN(4) {
	case 0:
		text := k.text()
		members = append(members, `"input":`+k.write(text))
		k.items = append(k.items, map[string]any{"type": "message", "role": "user", "content": text})
	case 1:
		members = append(members, `"input": null`)
	case 2:
		list := k.list()
		members = append(members, `"input": `+k.write(list))
		k.items = append(k.items, list...)
	}
	k.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	want["input"] = append([]any{}, k.items...)
	return "{" + strings.Join(members, ", ") + "}\n", want
}

// response makes the answer, whole or as the event that ends a stream, and adds its output to the conversation.
func (k *talk) response(id string) string {
	output := k.list()
	k.items = append(k.items, output...)
	response := map[string]any{"id": id, "object": "response", "status": "completed", "output": output,
		"instructions": k.text()}
	if k.IntN(2) == 0 {
		response["previous_response_id"] = nil
	}
	if k.IntN(2) == 0 {
		return k.write(map[string]any{"type": "response.completed", "sequence_number": 3, "response": response})
	}
	return k.write(response)
}

// itemsIn are the items of an input as servers read it: text is one, and where nobody has said anything there is none.
func itemsIn(input any) []any {
	switch input := input.(type) {
	case string:
		return []any{map[string]any{"type": "message", "role": "user", "content": input}}
	case []any:
		return input
	}
	return []any{}
}

// TestConversationsAreWhatOthersBuild holds random conversations, PINTLE_CONVERSATIONS says how many. The body that a
// server gets with each turn is what a client would send that keeps the conversation itself.
func TestConversationsAreWhatOthersBuild(t *testing.T) {
	rounds := 3_000
	if n, err := strconv.Atoi(os.Getenv("PINTLE_CONVERSATIONS")); err == nil {
		rounds = n
	}
	c := open(t, memoryOf(10, 1<<20))
	r := rand.New(rand.NewPCG(16, 2))
	var turn openai.Turn
	var patched []byte
	for round := range rounds {
		k, previous := &talk{Rand: r}, ""
		for n := range 2 + r.IntN(2) {
			body, want := k.request(previous)
			if !turn.Scan([]byte(body)) || turn.Previous != previous || !turn.Spliceable([]byte(body)) {
				t.Fatalf("round %d: %s: got %+v, want a turn after %q", round, body, turn, previous)
			}
			input := body[turn.Input.Start:turn.Input.End]
			if previous != "" {
				_, history := c.do("GET", "history/"+previous, "")
				var end int
				patched, end = turn.Splice(patched[:0], []byte(body), []byte(history), false)
				var got map[string]any
				err := json.Unmarshal(append(patched, body[end:]...), &got)
				got["input"] = itemsIn(got["input"])
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("round %d: %s behind %s: %v\ngot  %v\nwant %v", round, body, history, err, got, want)
				}
			}
			id := fmt.Sprintf("r%d-%d", round, n)
			if status := c.store(previous, input, k.response(id)); status != 204 {
				t.Fatalf("round %d: got %d, want it stored", round, status)
			}
			previous = id
		}
	}
}
