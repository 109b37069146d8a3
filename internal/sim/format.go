package sim

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// usage counts the tokens of one request.
type usage struct{ prompt, completion, cached int }

// format writes one API's answers. Each method appends to b and returns it, so a stream costs no allocation per token.
type format interface {
	// whole is the answer to a request that does not stream.
	whole(b []byte, text []byte, u usage) []byte
	// opening is the part of a stream that comes just before its first token.
	opening(b []byte, u usage) []byte
	// token is the part for a piece of text; first says that it is the first one.
	token(b []byte, text []byte, first bool) []byte
	// closing is the rest of a stream; text is the whole answer.
	closing(b []byte, text []byte, u usage) []byte
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func newFormat(r *request, id string, created int64) format {
	switch r.api {
	case apiCompletions:
		return newChoices(r, "cmpl-"+id, "text_completion", "text_completion", created)
	case apiResponses:
		return newResponsesFormat(r, id, created)
	case apiMessages:
		return newMessagesFormat(r, id)
	}
	return newChoices(r, "chatcmpl-"+id, "chat.completion", "chat.completion.chunk", created)
}

// choices is the format of chat completions and of completions.
type choices struct {
	*request
	id string
	// head and chunkHead are objects up to the choices.
	head, chunkHead string
	// before and after stand around the text of a chunk.
	before, after string
}

func newChoices(r *request, id, object, chunkObject string, created int64) *choices {
	head := func(object string) string {
		return fmt.Sprintf(`{"id":%s,"object":%q,"created":%d,"model":%s,"choices":[`, quote(id), object, created,
			quote(r.model))
	}
	c := &choices{request: r, id: id, head: head(object), chunkHead: "data: " + head(chunkObject)}
	c.before, c.after = c.chunkHead+`{"index":0,"delta":{"content":"`,
		`"},"logprobs":null,"finish_reason":null}]}`+"\n\n"
	if r.api == apiCompletions {
		c.before, c.after = c.chunkHead+`{"index":0,"text":"`, `","logprobs":null,"finish_reason":null}]}`+"\n\n"
	}
	return c
}

func (c *choices) toolCall() string {
	return fmt.Sprintf(`{"id":%s,"type":"function","function":{"name":%s,"arguments":"{}"}}`, quote("call-"+c.id),
		quote(c.tool))
}

func (c *choices) whole(b []byte, text []byte, u usage) []byte {
	b = append(b, c.head...)
	switch {
	case c.api == apiCompletions:
		b = append(append(append(b, `{"index":0,"text":"`...), text...), `","logprobs":null`...)
	case c.tool != "":
		b = fmt.Appendf(b, `{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[%s]},"logprobs":null`,
			c.toolCall())
	default:
		b = append(b, `{"index":0,"message":{"role":"assistant","content":"`...)
		b = append(append(b, text...), `","tool_calls":[]},"logprobs":null`...)
	}
	b = fmt.Appendf(b, `,"finish_reason":%q}],"usage":`, c.finishReason)
	return append(u.append(b), '}')
}

func (c *choices) opening(b []byte, _ usage) []byte {
	if c.api == apiCompletions {
		return b
	}
	b = append(b, c.chunkHead...)
	return append(b, `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`+
		"\n\n"...)
}

func (c *choices) token(b []byte, text []byte, first bool) []byte {
	switch {
	case c.tool == "":
		return append(append(append(b, c.before...), text...), c.after...)
	case first:
		b = append(b, c.chunkHead...)
		return fmt.Appendf(b,
			`{"index":0,"delta":{"tool_calls":[{"index":0,%s]},"logprobs":null,"finish_reason":null}]}`+"\n\n",
			c.toolCall()[1:])
	}
	return b
}

func (c *choices) closing(b []byte, _ []byte, u usage) []byte {
	end := `{"index":0,"delta":{},"logprobs":null,"finish_reason":`
	if c.api == apiCompletions {
		end = `{"index":0,"text":"","logprobs":null,"finish_reason":`
	}
	b = append(append(b, c.chunkHead...), end...)
	b = append(strconv.AppendQuote(b, c.finishReason), "}]}\n\n"...)
	if c.includeUsage {
		b = append(append(b, c.chunkHead...), `],"usage":`...)
		b = append(u.append(b), "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

func (u usage) append(b []byte) []byte {
	return fmt.Appendf(b,
		`{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
		u.prompt, u.prompt+u.completion, u.completion, u.cached)
}
