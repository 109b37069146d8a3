package openai

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
	APIGenerate        // POST /generate (SGLang), /inference/v1/generate (vLLM), /invocations
)

var apiNames = [...]string{"none", "chat", "completions", "responses", "embeddings", "messages", "rerank", "generate"}

func (a API) String() string {
	if int(a) >= len(apiNames) {
		return "unknown"
	}
	return apiNames[a]
}

// NeedsModel reports whether a body of the API has to name a model. Engines' own APIs serve whatever is loaded.
func (a API) NeedsModel() bool { return a != APINone && a != APIGenerate }
