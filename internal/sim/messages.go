package sim

import "fmt"

// messagesFormat writes Anthropic's Messages API, which vLLM serves too: one text block.
type messagesFormat struct {
	*request
	id string
}

func newMessagesFormat(r *request, id string) *messagesFormat {
	return &messagesFormat{request: r, id: quote("msg_" + id)}
}

func (f *messagesFormat) stopReason() string {
	if f.finishReason == "length" {
		return "max_tokens"
	}
	return "end_turn"
}

func (f *messagesFormat) usage(u usage) string {
	return fmt.Sprintf(
		`{"input_tokens":%d,"output_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d}`,
		u.prompt-u.cached, u.completion, u.cached)
}

func (f *messagesFormat) whole(b []byte, text []byte, u usage) []byte {
	return fmt.Appendf(b,
		`{"id":%s,"type":"message","role":"assistant","content":[{"type":"text","text":"%s"}],"model":%s,`+
			`"stop_reason":%q,"stop_sequence":null,"usage":%s}`, f.id, text, quote(f.model), f.stopReason(), f.usage(u))
}

func (f *messagesFormat) opening(b []byte, u usage) []byte {
	u.completion = 0
	b = fmt.Appendf(b, "event: message_start\ndata: "+
		"{\"type\":\"message_start\",\"message\":{\"id\":%s,\"type\":\"message\","+
		"\"role\":\"assistant\",\"content\":[],\"model\":%s,\"stop_reason\":null,\"stop_sequence\":null,\"usage\":%s}}\n\n",
		f.id, quote(f.model), f.usage(u))
	return append(b, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"+
		"\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"...)
}

func (f *messagesFormat) token(b []byte, text []byte, _ bool) []byte {
	b = append(b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"+
		"\"delta\":{\"type\":\"text_delta\",\"text\":\""...)
	return append(append(b, text...), "\"}}\n\n"...)
}

func (f *messagesFormat) closing(b []byte, _ []byte, u usage) []byte {
	b = append(b, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"...)
	b = fmt.Appendf(b, "event: message_delta\ndata: "+
		"{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":%q,\"stop_sequence\":null},"+
		"\"usage\":%s}\n\n", f.stopReason(), f.usage(u))
	return append(b, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}
