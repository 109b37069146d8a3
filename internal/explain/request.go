package explain

import (
	"cmp"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/openai"
)

// Request is a request to be explained. Header names are in lower case; :path chooses the API, and without it the
// body's keys do. The :method is POST unless it is given.
type Request struct {
	Headers map[string]string
	Body    []byte
}

// headerSubset is the subset hint of the endpoint picker protocol, which the filter also finds in metadata.
const headerSubset = "x-gateway-destination-endpoint-subset"

func cleanPath(path string) string {
	clean, _ := openai.CleanPath(nil, path)
	return clean
}

func (r Request) method() string { return cmp.Or(r.Headers[":method"], http.MethodPost) }

func (r Request) encoded() bool { return openai.Encodes(r.Headers["content-encoding"]) }

// operation tells what the path stands for, without one which dialect the body is in.
func (r Request) operation() openai.Operation {
	if path, ok := r.Headers[":path"]; ok {
		return openai.OperationOf(cleanPath(path))
	}
	for _, guess := range []struct {
		key string
		api openai.API
	}{
		{"messages", openai.APIChat}, {"prompt", openai.APICompletions}, {"input", openai.APIResponses},
		{"documents", openai.APIRerank},
	} {
		if gjson.GetBytes(r.Body, guess.key).Exists() {
			return openai.Operation{Kind: openai.KindInference, API: guess.api}
		}
	}
	return openai.Operation{Kind: openai.KindInference, API: openai.APIChat}
}
