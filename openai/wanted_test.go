package openai

import (
	"strings"
	"testing"
)

func TestWanted(t *testing.T) {
	names := []string{"prompt_cache_key", "conversation", "metadata.user_id", "metadata.session", "user", "a.b"}
	long := strings.Repeat("é", MaxName)
	tests := []struct{ name, body, want string }{
		{"none", `{"model":"m"}`, "|||||"},
		{"a string", `{"prompt_cache_key":"k","model":"m"}`, "k|||||"},
		{"an escaped one", `{"prompt_cache_key":"k\u0041\n"}`, "kA\n|||||"},
		{"an escaped key", `{"prompt_cache\u005fkey":"k"}`, "k|||||"},
		{"a string or an object's id", `{"conversation":"c1"}`, "|c1||||"},
		{"an object's id", `{"conversation":{"object":"x","id":"c2"}}`, "|c2||||"},
		{"keys without a name beside an object's id", `{"conversation":{"id":"c2","":"c3"}}`, "|c2||||"},
		{"long keys beside an object's id", `{"conversation":{"id":"c2","` + strings.Repeat("k", maxWord+1) + `":"c3"}}`,
			"|c2||||"},
		{"keys of an object", `{"metadata":{"session":"s","user_id":"u"}}`, "||u|s||"},
		{"deeper ones do not count", `{"metadata":{"a":{"user_id":"u"}},"x":{"prompt_cache_key":"k"}}`, "|||||"},
		{"an object where one is wanted", `{"metadata":{"user_id":{"id":"u"}}}`, "|||||"},
		{"the last one counts", `{"metadata":{"user_id":"u","session":"s"},"metadata":{"session":"t"}}`, "|||t||"},
		{"the last one inside", `{"metadata":{"user_id":"u","user_id":"v"}}`, "||v|||"},
		{"of another type", `{"prompt_cache_key":"k","prompt_cache_key":7}`, "|||||"},
		{"a key with a meaning is not read", `{"user":"u"}`, "|||||"},
		{"not an object", `{"a":[{"b":"c"}],"metadata":"m"}`, "|||||"},
		{"long", `{"a":{"b":"` + long + `"}}`, "|||||" + long[:MaxName]},
	}
	var r Request
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r.Want(names)
			if err := r.Scan(APINone, []byte(tc.body)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range names {
				got = append(got, r.Wanted(i))
			}
			if joined := strings.Join(got, "|"); joined != tc.want {
				t.Errorf("got %q, want %q", joined, tc.want)
			}
		})
	}
	if got := r.Wanted(len(names)); got != "" {
		t.Errorf("got %q for a key that nobody named, want nothing", got)
	}
}

// TestWantOthers: what another configuration named does not stay.
func TestWantOthers(t *testing.T) {
	var r Request
	body := []byte(`{"a":"1","b":"2"}`)
	for _, names := range [][]string{{"a"}, {"b"}, nil, {"b", "a"}} {
		r.Want(names)
		if err := r.Scan(APINone, body); err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			if got, want := r.Wanted(i), map[string]string{"a": "1", "b": "2"}[name]; got != want {
				t.Errorf("of %v %s: got %q, want %q", names, name, got, want)
			}
		}
		if got := r.Wanted(len(names)); got != "" {
			t.Errorf("of %v: got %q behind the last, want nothing", names, got)
		}
	}
}

// TestWantTooMany: the first eight count.
func TestWantTooMany(t *testing.T) {
	var r Request
	r.Want(strings.Split("abcdefghij", ""))
	if err := r.Scan(APINone, []byte(`{"h":"1","i":"2","a":"3"}`)); err != nil {
		t.Fatal(err)
	}
	if h, i, a := r.Wanted(7), r.Wanted(8), r.Wanted(0); h != "1" || i != "" || a != "3" {
		t.Errorf("got %q, %q and %q of the keys 8, 9 and 1, want 1, nothing and 3", h, i, a)
	}
}

// TestWantedAllocatesNothing once names have been seen.
func TestWantedAllocatesNothing(t *testing.T) {
	var r Request
	names, body := []string{"prompt_cache_key", "metadata.user_id"},
		[]byte(`{"metadata":{"user_id":"u"},"prompt_cache_key":"k\n"}`)
	n := testing.AllocsPerRun(100, func() {
		r.Want(names)
		if err := r.Scan(APINone, body); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("got %v allocations for a scan, want none", n)
	}
}

// TestWantedExtraKey: extra_key and lora_path have a meaning of their own and can be wanted all the same.
func TestWantedExtraKey(t *testing.T) {
	var r Request
	r.Want([]string{"extra_key", "lora_path"})
	for _, tc := range []struct{ body, want, key string }{
		{`{"extra_key":"a"}`, "a", "a"}, {`{"extra_key":"a","extra_key":7}`, "", ""},
		{`{"extra_key":{"id":"a"}}`, "a", ""}, {`{"extra_key":"a","extra_key":["b"],"user":"u"}`, "", ""},
	} {
		if err := r.Scan(APIChat, []byte(tc.body)); err != nil {
			t.Fatal(err)
		}
		if r.Wanted(0) != tc.want || r.ExtraKey != tc.key {
			t.Errorf("%s: got %q and %q, want %q and %q", tc.body, r.Wanted(0), r.ExtraKey, tc.want, tc.key)
		}
		body := strings.ReplaceAll(tc.body, "extra_key", "lora_path")
		if err := r.Scan(APIChat, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if r.Wanted(1) != tc.want || r.LoRAPath != tc.key || r.ExtraKey != "" {
			t.Errorf("%s: got %q and %q, want %q and %q", body, r.Wanted(1), r.LoRAPath, tc.want, tc.key)
		}
	}
}

// TestReserved: what scans read as prompts and settings cannot be wanted.
func TestReserved(t *testing.T) {
	for _, name := range []string{
		"messages", "prompt", "input", "instructions", "system", "tools", "functions", "query", "queries", "documents",
		"items", "text_1", "text_2", "data_1", "data_2", "text", "text_input", "input_ids", "token_ids", "stream",
		"stream_options", "max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens",
		"sampling_params", "user", "cache_salt", "previous_response_id", "model",
	} {
		if !Reserved(name) {
			t.Errorf("%s can be wanted", name)
		}
	}
	for _, name := range []string{"", "a", "conversation", "metadata", "prompt_cache_key", "extra_key", "lora_path",
		"include_usage",
		"role", "type", "content", "url", "data", "output"} {
		if Reserved(name) {
			t.Errorf("%s cannot be wanted", name)
		}
	}
}
