package openai

import "strings"

// API is the dialect of a request body. It decides which keys hold prompt text.
type API uint8

const (
	// APINone is the zero value: a body of which only the keys common to all APIs are read.
	APINone        API = iota
	APIChat            // POST /v1/chat/completions
	APICompletions     // POST /v1/completions
	APIResponses       // POST /v1/responses
	APIEmbeddings      // POST /v1/embeddings, /pooling, /classify
	APIMessages        // POST /v1/messages (Anthropic)
	APIRerank          // POST /rerank, /score
)

var apiNames = [...]string{"none", "chat", "completions", "responses", "embeddings", "messages", "rerank"}

func (a API) String() string {
	if int(a) >= len(apiNames) {
		return "unknown"
	}
	return apiNames[a]
}

var apiSuffixes = [...]struct {
	suffix string
	api    API
}{
	{"/chat/completions", APIChat},
	{"/v1/completions", APICompletions},
	{"/v1/responses", APIResponses},
	{"/v1/messages", APIMessages},
	{"/v1/embeddings", APIEmbeddings},
	{"/pooling", APIEmbeddings},
	{"/classify", APIEmbeddings},
	{"/rerank", APIRerank},
	{"/score", APIRerank},
}

// APIForPath names the API of a request path by its suffix, so that prefixes (/openai/v1/chat/completions) work. A query string
// is ignored. Everything else is APINone, also the path of one model (/v1/models/NAME), whose name may look like an endpoint.
func APIForPath(path string) API {
	if i := strings.IndexByte(path, '?'); i >= 0 {
		path = path[:i]
	}
	for i := range apiSuffixes {
		if !strings.HasSuffix(path, apiSuffixes[i].suffix) {
			continue
		}
		if strings.Contains(path, "/models/") {
			return APINone
		}
		return apiSuffixes[i].api
	}
	return APINone
}
