package sim

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/openai"
)

// setPrompt renders what the model reads. Every prompt begins with one token that opens the text.
func (r *request) setPrompt(f fields) *apiError {
	p := prompt(nil).add("\x02")
	var failure *apiError
	switch r.api {
	case apiChat, apiMessages:
		if !f["messages"].IsArray() {
			return badRequest("messages", "messages is missing or not a list")
		}
		p = renderTools(p, f["tools"])
		if system := f["system"]; system.Exists() {
			p = renderSystem(p, system, system.IsArray())
		}
		p = renderMessages(p, f["messages"], r.api)
	case apiResponses:
		p, failure = renderResponses(p, f)
	case apiCompletions:
		p, failure = renderCompletion(p, f["prompt"])
	case apiEmbeddings:
		p, failure = r.renderEmbeddings(p, f)
	}
	r.prompt = p
	return failure
}

func renderTools(p prompt, tools gjson.Result) prompt {
	if !tools.IsArray() || tools.Get("#").Int() == 0 {
		return p
	}
	return p.role("tools").add(canonical(tools))
}

// canonical writes a value such that only what it says counts, not how: whoever asks for a prompt's tokens may write it
// otherwise than the client did. To vLLM, cache_control says nothing.
func canonical(v gjson.Result) string {
	value := v.Value()
	if members, ok := value.(map[string]any); ok {
		delete(members, "cache_control")
	}
	text, err := json.Marshal(value)
	if err != nil { // a number beyond all bounds
		return v.Raw
	}
	return string(text)
}

func renderMessages(p prompt, messages gjson.Result, a api) prompt {
	messages.ForEach(func(_, message gjson.Result) bool {
		role, content := message.Get("role").String(), message.Get("content")
		switch {
		case role == "system":
			p = renderSystem(p, content, a == apiMessages)
		case a == apiResponses && !content.Exists(): // a tool's call or its output
			p = p.role(role).add(canonical(message))
		default:
			p = renderContent(p.role(role), content)
		}
		if calls := message.Get("tool_calls"); calls.IsArray() {
			p = p.add(canonical(calls))
		}
		return true
	})
	return p.role("assistant")
}

// renderSystem renders system text without Claude Code's billing header, as vLLM does, see openai.BillingHeader: of
// each text that begins with it the first line is left out, or if whole is set all of it.
func renderSystem(p prompt, content gjson.Result, whole bool) prompt {
	p = p.role("system")
	add := func(text string) {
		if strings.HasPrefix(text, openai.BillingHeader) {
			if _, text, _ = strings.Cut(text, "\n"); whole {
				return
			}
		}
		p = p.add(text)
	}
	switch {
	case content.Type == gjson.Null:
		return p
	case !content.IsArray():
		add(content.String())
		return p
	}
	content.ForEach(func(_, part gjson.Result) bool {
		if part.Get("type").String() == "text" {
			add(part.Get("text").String())
		} else {
			p = renderPart(p, part)
		}
		return true
	})
	return p
}

func renderContent(p prompt, content gjson.Result) prompt {
	if content.Type == gjson.Null {
		return p
	}
	if !content.IsArray() {
		return p.add(content.String())
	}
	content.ForEach(func(_, part gjson.Result) bool {
		p = renderPart(p, part)
		return true
	})
	return p
}

func renderPart(p prompt, part gjson.Result) prompt {
	switch part.Get("type").String() {
	case "text", "input_text", "output_text":
		return p.add(part.Get("text").String())
	case "image_url", "input_image":
		image := part.Get("image_url")
		if image.IsObject() {
			image = image.Get("url")
		}
		return p.image(image.String())
	case "image":
		return p.image(part.Get("source").Raw)
	}
	return p.add(canonical(part))
}

func renderResponses(p prompt, f fields) (prompt, *apiError) {
	p = renderTools(p, f["tools"])
	if instructions := f["instructions"]; instructions.Type == gjson.String {
		p = renderSystem(p, instructions, false)
	}
	input := f["input"]
	switch {
	case input.Type == gjson.String:
		return p.role("user").add(input.String()).role("assistant"), nil
	case input.IsArray():
		return renderMessages(p, input, apiResponses), nil
	}
	return nil, badRequest("input", "input is missing or neither a string nor a list")
}

func renderCompletion(p prompt, v gjson.Result) (prompt, *apiError) {
	switch {
	case v.Type == gjson.String:
		return p.add(v.String()), nil
	case !v.IsArray():
		return nil, badRequest("prompt", "prompt is missing or neither a string nor a list")
	}
	items := v.Array()
	if len(items) > 0 && items[0].Type == gjson.Number {
		return renderTokenIDs(p, items), nil
	}
	if len(items) != 1 {
		return nil, badRequest("prompt",
			fmt.Sprintf("prompt is a list of %d: this server takes one prompt per request", len(items)))
	}
	if items[0].IsArray() {
		return renderTokenIDs(p, items[0].Array()), nil
	}
	return p.add(items[0].String()), nil
}

func renderTokenIDs(p prompt, ids []gjson.Result) prompt {
	for _, id := range ids {
		p = binary.LittleEndian.AppendUint32(p, uint32(id.Int()))
	}
	return p
}

const (
	defaultDimensions = 8
	maxDimensions     = 4096
)

func (r *request) renderEmbeddings(p prompt, f fields) (prompt, *apiError) {
	input := f["input"]
	switch {
	case input.Type == gjson.String:
		r.inputs = []string{input.String()}
	case input.IsArray():
		for _, item := range input.Array() {
			if item.Type == gjson.Number {
				r.inputs = []string{input.Raw}
				break
			}
			r.inputs = append(r.inputs, item.String())
		}
	}
	if len(r.inputs) == 0 {
		return nil, badRequest("input", "input is missing, empty or neither a string nor a list")
	}
	for _, text := range r.inputs {
		p = p.add(text)
	}
	r.base64 = f["encoding_format"].String() == "base64"
	r.dimensions = defaultDimensions
	if d := f["dimensions"]; d.Type == gjson.Number {
		if d.Num < 1 || d.Num > maxDimensions {
			return nil, badRequest("dimensions", fmt.Sprintf("dimensions %s: want 1 to %d", d.Raw, maxDimensions))
		}
		r.dimensions = int(d.Num)
	}
	return p, nil
}
