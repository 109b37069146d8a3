package openai

import "strings"

// Kind says what a request to a path asks a server for.
type Kind uint8

const (
	// KindOther is the zero value: nothing that is known here, such as a list of models or a server's health.
	KindOther Kind = iota
	// KindInference has a model compute something from a JSON body.
	KindInference
	// KindHelper is about a model and has a JSON body, but nothing is computed by the model: it counts tokens, or
	// renders a prompt.
	KindHelper
	// KindForm has a model compute something from a form with files, such as speech that is to be written down.
	KindForm
	// KindManagement steers a server or tells its secrets: it loads adapters or weights, empties caches, puts it to
	// sleep.
	KindManagement
)

// Operation is what a request path stands for.
type Operation struct {
	Kind Kind
	// API is the dialect of the body; APINone where its prompt has no meaning here.
	API API
	// Model is the model that the path names, as in /v1/models/NAME; mostly none.
	Model string
}

// ReadsBody reports whether the body is JSON that says what the request is about.
func (o Operation) ReadsBody() bool { return o.Kind == KindInference || o.Kind == KindHelper }

// Computes reports whether a model computes something for the request.
func (o Operation) Computes() bool { return o.Kind == KindInference || o.Kind == KindForm }

// operations are by the end of the path, so that prefixes (/openai/v1/chat/completions) work.
var operations = [...]struct {
	suffix string
	Operation
}{
	{"/chat/completions", Operation{Kind: KindInference, API: APIChat}},
	{"/v1/completions", Operation{Kind: KindInference, API: APICompletions}},
	{"/v1/responses", Operation{Kind: KindInference, API: APIResponses}},
	{"/v1/messages", Operation{Kind: KindInference, API: APIMessages}},
	{"/v1/embeddings", Operation{Kind: KindInference, API: APIEmbeddings}},
	{"/pooling", Operation{Kind: KindInference, API: APIEmbeddings}},
	{"/classify", Operation{Kind: KindInference, API: APIEmbeddings}},
	{"/rerank", Operation{Kind: KindInference, API: APIRerank}},
	{"/score", Operation{Kind: KindInference, API: APIRerank}},
	{"/generate", Operation{Kind: KindInference, API: APIGenerate}},
	{"/generate_stream", Operation{Kind: KindInference, API: APIGenerate}},
	{"/encode", Operation{Kind: KindInference, API: APIGenerate}},
	{"/invocations", Operation{Kind: KindInference, API: APIGenerate}},
	{"/api/chat", Operation{Kind: KindInference, API: APIGenerate}},
	{"/vertex_generate", Operation{Kind: KindInference}},
	{"/generative_scoring", Operation{Kind: KindInference}},
	{"/chat/completions/batch", Operation{Kind: KindInference}},
	{"/v1/decisions", Operation{Kind: KindInference}},
	{"/v1/systemone", Operation{Kind: KindInference}},
	{"/cohere/v2/chat", Operation{Kind: KindInference}},
	{"/v2/embed", Operation{Kind: KindInference}},
	{"/v1/audio/speech", Operation{Kind: KindInference}},
	{"/v1/images/generations", Operation{Kind: KindInference}},
	{"/v1/audio/transcriptions", Operation{Kind: KindForm}},
	{"/v1/audio/translations", Operation{Kind: KindForm}},
	{"/v1/images/edits", Operation{Kind: KindForm}},
	{"/v1/images/variations", Operation{Kind: KindForm}},
	{"/v1/videos", Operation{Kind: KindForm}},
	{"/v1/videos/generations", Operation{Kind: KindForm}},
	{"/completions/render", Operation{Kind: KindHelper}},
	{"/completions/derender", Operation{Kind: KindHelper}},
	{"/v1/messages/render", Operation{Kind: KindHelper}},
	{"/cohere/v2/chat/render", Operation{Kind: KindHelper}},
	{"/v1/responses/render", Operation{Kind: KindHelper}},
	{"/v1/messages/count_tokens", Operation{Kind: KindHelper}},
	{"/v1/responses/input_tokens", Operation{Kind: KindHelper}},
	{"/tokenize", Operation{Kind: KindHelper}},
	{"/detokenize", Operation{Kind: KindHelper}},
}

// OperationOf says what a clean path (see CleanPath) stands for. A path below /v1/models/ is about one model, whose
// name may look like an operation.
func OperationOf(path string) Operation {
	if _, name, ok := strings.Cut(path, "/v1/models/"); ok {
		return Operation{Model: name}
	}
	_, rest, triton := strings.Cut(path, "/v2/models/")
	if !triton {
		return known(path)
	}
	name, _, _ := strings.Cut(rest, "/")
	o := known(rest[len(name):])
	o.Model = name
	return o
}

func known(path string) Operation {
	for i := range operations {
		if strings.HasSuffix(path, operations[i].suffix) {
			return operations[i].Operation
		}
	}
	if manages(path) {
		return Operation{Kind: KindManagement}
	}
	return Operation{}
}
