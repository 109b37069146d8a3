package openai

import (
	"encoding/json"
	"testing"
)

func TestAppendRewritten(t *testing.T) {
	tests := []struct{ name, body, model, salt, want string }{
		{"nothing", `{"model":"m","prompt":"x"}`, "m", "", ``},
		{"the model", `{"model":"m","prompt":"x"}`, "other", "", `{"model":"other"`},
		{"a model that the body does not name", `{"prompt":"x"}`, "other", "", ``},
		{"a salt", ` {"model":"m","prompt":"x"}`, "m", "s", ` {"cache_salt":"s",`},
		{"a salt in a body without keys", `{ }`, "", "s", `{"cache_salt":"s"`},
		{"a salt in place of the client's", `{"prompt":"x", "cache_salt" : "mine" ,"model":"m"}`, "m", "s",
			`{"prompt":"x", "cache_salt" : "s"`},
		{"in place of the one that counts", `{"model":"m","cache_salt":"first","cache_salt":null,"prompt":"x"}`, "m",
			"s", `{"model":"m","cache_salt":"first","cache_salt":"s"`},
		{"in place of a list", `{"model":"m","cache_salt":["a",{"b":"c"}],"prompt":"x"}`, "m", "s",
			`{"model":"m","cache_salt":"s"`},
		{"in place of one whose key is escaped", `{"model":"m","cache\u005fsalt":"mine","prompt":"x"}`, "m", "s",
			`{"model":"m","cache\u005fsalt":"s"`},
		{"not one further inside", `{"model":"m","metadata":{"cache_salt":"mine"}}`, "m", "s", `{"cache_salt":"s",`},
		{"both, none in the body", `{"model":"m","prompt":"x"}`, "other", "s", `{"cache_salt":"s","model":"other"`},
		{"both, the salt first", `{"cache_salt":1,"prompt":"x","model":"m","n":1}`, "other", "s",
			`{"cache_salt":"s","prompt":"x","model":"other"`},
		{"both, the model first", `{"model":"m","prompt":"x","cache_salt":"","n":1}`, "other", "s",
			`{"model":"other","prompt":"x","cache_salt":"s"`},
	}
	var r Request
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if err := r.Scan(APICompletions, []byte(tc.body)); err != nil {
				t.Fatal(err)
			}
			if tc.salt != "" {
				r.SetCacheSalt([]byte(tc.salt))
			}
			got, end := r.AppendRewritten(nil, []byte(tc.body), tc.model)
			if string(got) != tc.want {
				t.Errorf("the beginning:\n got %s\nwant %s", got, tc.want)
			}
			checkRewritten(t, &r, append(got, tc.body[end:]...), tc.model, tc.salt)
		})
	}
}

// checkRewritten compares what a server reads in the whole body with what was to be written into it.
func checkRewritten(t *testing.T, r *Request, whole []byte, model, salt string) {
	t.Helper()
	var read struct {
		Model     string
		CacheSalt any `json:"cache_salt"`
	}
	if err := json.Unmarshal(whole, &read); err != nil {
		t.Fatalf("%s: %v", whole, err)
	}
	if r.HasModel && read.Model != model {
		t.Errorf("model in %s: got %q, want %q", whole, read.Model, model)
	}
	if salt != "" && read.CacheSalt != salt {
		t.Errorf("salt in %s: got %v, want %q", whole, read.CacheSalt, salt)
	}
}

// TestSentSalt: what the client sent stays known beside what the servers get.
func TestSentSalt(t *testing.T) {
	var r Request
	if err := r.Scan(APICompletions, []byte(`{"model":"m","cache_salt":"mine"}`)); err != nil {
		t.Fatal(err)
	}
	r.SetCacheSalt([]byte("ours"))
	if r.SentSalt != "mine" || r.CacheSalt != "ours" {
		t.Errorf("got %q sent and %q for servers, want mine and ours", r.SentSalt, r.CacheSalt)
	}
	if err := r.Scan(APICompletions, []byte(`{"model":"m"}`)); err != nil {
		t.Fatal(err)
	}
	if got, end := r.AppendRewritten(nil, []byte(`{"model":"m"}`), "m"); r.CacheSalt != "" || end != 0 {
		t.Errorf("the next body: got salt %q and %q, want nothing of the last one's", r.CacheSalt, got)
	}
}
