package openai

import "testing"

// TestAPIOfPaths: a path is cleaned, and then tells which keys of the body hold prompt text.
func TestAPIOfPaths(t *testing.T) {
	for _, c := range []struct {
		name, path string
		want       API
	}{
		{"chat", "/v1/chat/completions", APIChat},
		{"chat with query", "/v1/chat/completions?api-version=2024-10-21", APIChat},
		{"chat behind a prefix", "/openai/v1/chat/completions", APIChat},
		{"chat of Azure", "/openai/deployments/gpt/chat/completions?x=/v1/messages", APIChat},
		{"chat without version", "/chat/completions", APIChat},
		{"completions", "/v1/completions", APICompletions},
		{"responses", "/v1/responses", APIResponses},
		{"embeddings", "/v1/embeddings", APIEmbeddings},
		{"pooling", "/pooling", APIEmbeddings},
		{"classify", "/v1/classify", APIEmbeddings},
		{"messages", "/anthropic/v1/messages", APIMessages},
		{"rerank", "/v2/rerank", APIRerank},
		{"score", "/score", APIRerank},
		{"encoded letter", "/v1/%63hat/completions", APIChat},
		{"encoded slash", "/v1/chat%2fcompletions", APIChat},
		{"engine's own", "/generate", APIGenerate},
		{"longer", "/v1/chat/completions/foo", APINone},
		{"trailing slash", "/v1/chat/completions/", APIChat},
		{"stored completion", "/v1/chat/completions/cmpl-1/messages", APINone},
		{"one response", "/v1/responses/resp_1", APINone},
		{"messages of a thread", "/v1/threads/thread_1/messages", APINone},
		{"token count", "/v1/messages/count_tokens", APINone},
		{"glued", "/v1/xchat/completions", APINone},
		{"only in the query", "/metrics?/v1/chat/completions", APINone},
		{"models", "/v1/models", APINone},
		{"model named like an endpoint", "/v1/models/org/rerank", APINone},
		{"metrics", "/metrics", APINone},
		{"case", "/V1/Chat/Completions", APINone},
		{"empty", "", APINone},
	} {
		t.Run(c.name, func(t *testing.T) {
			clean, _ := CleanPath(nil, c.path)
			if got := OperationOf(clean).API; got != c.want {
				t.Errorf("%q: got %s, want %s", c.path, got, c.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	if got := APIGenerate.String() + " " + API(99).String(); got != "generate unknown" {
		t.Errorf("API names: got %q", got)
	}
	if got := ReasonEnd.Error() + " " + Reason(99).Error(); got != "unexpected end of JSON unknown reason" {
		t.Errorf("reasons: got %q", got)
	}
	if got := (&Error{Offset: 10, Reason: ReasonNumber}).Error(); got != "invalid number at byte 10" {
		t.Errorf("an error: got %q", got)
	}
	if got := RoleOther.String() + " " + Role(99).String(); got != "other unknown" {
		t.Errorf("role names: got %q", got)
	}
}
