package sim

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"
)

// api is one of the request paths that generate something.
type api int

const (
	apiChat api = iota
	apiCompletions
	apiResponses
	apiMessages
	apiEmbeddings
)

var apiPaths = map[string]api{
	"/v1/chat/completions": apiChat,
	"/v1/completions":      apiCompletions,
	"/v1/responses":        apiResponses,
	"/v1/messages":         apiMessages,
	"/v1/embeddings":       apiEmbeddings,
}

// limitKeys are where each API names the longest answer, the first one present counts.
var limitKeys = map[api][]string{
	apiChat:        {"max_completion_tokens", "max_tokens"},
	apiCompletions: {"max_tokens"},
	apiResponses:   {"max_output_tokens"},
	apiMessages:    {"max_tokens"},
}

// toolCallTokens is the length of an answer that is a tool call.
const toolCallTokens = 12

// request is what the server makes of a request body.
type request struct {
	api          api
	model        string
	adapter      string
	salt         string
	prompt       prompt
	outputTokens int
	finishReason string
	stream       bool
	includeUsage bool
	// tool is the function that the answer calls, if any.
	tool string
	// inputs, dimensions and base64 are for embeddings.
	inputs     []string
	dimensions int
	base64     bool
}

// fields are the top-level members of a body. Of a repeated key the last one counts, as in Python's json.
type fields map[string]gjson.Result

func parseFields(body []byte) (fields, *apiError) {
	if !gjson.ValidBytes(body) {
		return nil, badRequest("", "request body is not valid JSON")
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		return nil, badRequest("", "request body is not a JSON object")
	}
	f := fields{}
	root.ForEach(func(key, value gjson.Result) bool {
		f[key.String()] = value
		return true
	})
	return f, nil
}

func parseRequest(a api, body []byte, config Config) (*request, *apiError) {
	f, failure := parseFields(body)
	if failure != nil {
		return nil, failure
	}
	r := &request{api: a, stream: f["stream"].Bool(), finishReason: "stop"}
	if failure := r.setModel(f, config); failure != nil {
		return nil, failure
	}
	if n := f["n"]; n.Exists() && n.Type != gjson.Null && n.Int() != 1 {
		return nil, badRequest("n", fmt.Sprintf("n %s: this server gives one choice per request", n.Raw))
	}
	r.includeUsage = f["stream_options"].Get("include_usage").Bool()
	if failure := r.setPrompt(f); failure != nil {
		return nil, failure
	}
	if a == apiEmbeddings {
		return r, r.checkLength(config)
	}
	if failure := r.setLength(f, config); failure != nil {
		return nil, failure
	}
	return r, nil
}

func (r *request) setModel(f fields, config Config) *apiError {
	r.model = config.Models[0]
	if model := f["model"]; model.Exists() && model.Type != gjson.Null {
		if model.Type != gjson.String {
			return badRequest("model", "model is not a string")
		}
		r.model = model.String()
	}
	switch {
	case slices.Contains(config.Adapters, r.model):
		r.adapter = r.model
	case !slices.Contains(config.Models, r.model):
		return &apiError{http.StatusNotFound, fmt.Sprintf("the model %q does not exist", r.model), "NotFoundError",
			"model"}
	}
	r.salt = r.adapter + "\x00" + f["cache_salt"].String()
	return nil
}

// setLength decides how many tokens the answer has: as many as the request allows, or the server's default.
func (r *request) setLength(f fields, config Config) *apiError {
	r.outputTokens = config.OutputTokens
	for _, key := range limitKeys[r.api] {
		limit := f[key]
		if !limit.Exists() || limit.Type == gjson.Null {
			continue
		}
		if limit.Type != gjson.Number || limit.Num < 1 || limit.Num != float64(limit.Int()) {
			return badRequest(key, fmt.Sprintf("%s %s: want a whole number, 1 or more", key, limit.Raw))
		}
		r.outputTokens = int(min(limit.Int(), int64(config.maxTokens())+1))
		r.finishReason = "length"
		return r.finishLength(f, config)
	}
	r.outputTokens = min(r.outputTokens, max(config.maxTokens()-r.prompt.tokens(), 1))
	return r.finishLength(f, config)
}

func (r *request) finishLength(f fields, config Config) *apiError {
	if r.api == apiChat {
		if r.tool = calledTool(f); r.tool != "" {
			r.outputTokens, r.finishReason = min(r.outputTokens, toolCallTokens), "tool_calls"
		}
	}
	return r.checkLength(config)
}

func (r *request) checkLength(config Config) *apiError {
	if total := r.prompt.tokens() + r.outputTokens; total > config.maxTokens() {
		return badRequest("",
			fmt.Sprintf("context length is %d tokens: %d in the prompt and %d for the answer are too many",
				config.maxTokens(), r.prompt.tokens(), r.outputTokens))
	}
	return nil
}

// calledTool names the tool that the request insists on.
func calledTool(f fields) string {
	choice := f["tool_choice"]
	if choice.IsObject() {
		return choice.Get("function.name").String()
	}
	if s := choice.String(); s != "required" && s != "any" {
		return ""
	}
	return f["tools"].Get("0.function.name").String()
}
