package sim

import "fmt"

// responsesFormat writes the Responses API: one message with one text part.
type responsesFormat struct {
	*request
	id, item string
	created  int64
	sequence int
}

func newResponsesFormat(r *request, id string, created int64) *responsesFormat {
	return &responsesFormat{request: r, id: quote("resp_" + id), item: quote("msg_" + id), created: created}
}

// status is incomplete when the limit of the request ended the answer. As in vLLM the message is completed all the
// same, and so is the stream by its last event's name.
func (f *responsesFormat) status() string {
	if f.finishReason == "length" {
		return "incomplete"
	}
	return "completed"
}

func (f *responsesFormat) object(b []byte, status, output string, u *usage) []byte {
	details := "null"
	if status == "incomplete" {
		details = `{"reason":"max_output_tokens"}`
	}
	b = fmt.Appendf(b, `{"id":%s,"object":"response","created_at":%d,"status":%q,"error":null,"incomplete_details":%s,`+
		`"instructions":null,"metadata":{},"model":%s,"output":[%s],"parallel_tool_calls":true,"temperature":1.0,"tool_choice":"auto",`+
		`"tools":[],"top_p":1.0`, f.id, f.created, status, details, quote(f.model), output)
	if u == nil {
		return append(b, `,"usage":null}`...)
	}
	return fmt.Appendf(b, `,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,`+
		`"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}}`, u.prompt, u.cached, u.completion,
		u.prompt+u.completion)
}

func (f *responsesFormat) message(status, content string) string {
	return fmt.Sprintf(`{"id":%s,"type":"message","status":%q,"role":"assistant","content":[%s]}`, f.item, status,
		content)
}

func textPart(text []byte) string {
	return `{"type":"output_text","text":"` + string(text) + `","annotations":[]}`
}

func (f *responsesFormat) whole(b []byte, text []byte, u usage) []byte {
	return f.object(b, f.status(), f.message("completed", textPart(text)), &u)
}

// event appends one event of which body is the JSON members after type and sequence_number.
func (f *responsesFormat) event(b []byte, kind, body string) []byte {
	b = fmt.Appendf(b, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, f.sequence, body)
	f.sequence++
	return b
}

func (f *responsesFormat) part() string {
	return `"item_id":` + f.item + `,"output_index":0,"content_index":0`
}

func (f *responsesFormat) opening(b []byte, _ usage) []byte {
	response := `"response":` + string(f.object(nil, "in_progress", "", nil))
	b = f.event(b, "response.created", response)
	b = f.event(b, "response.in_progress", response)
	b = f.event(b, "response.output_item.added", `"output_index":0,"item":`+f.message("in_progress", ""))
	return f.event(b, "response.content_part.added", f.part()+`,"part":`+textPart(nil))
}

func (f *responsesFormat) token(b []byte, text []byte, _ bool) []byte {
	return f.event(b, "response.output_text.delta", f.part()+`,"delta":"`+string(text)+`","logprobs":[]`)
}

func (f *responsesFormat) closing(b []byte, text []byte, u usage) []byte {
	b = f.event(b, "response.output_text.done", f.part()+`,"text":"`+string(text)+`","logprobs":[]`)
	b = f.event(b, "response.content_part.done", f.part()+`,"part":`+textPart(text))
	message := f.message("completed", textPart(text))
	b = f.event(b, "response.output_item.done", `"output_index":0,"item":`+message)
	return f.event(b, "response.completed", `"response":`+string(f.object(nil, f.status(), message, &u)))
}
