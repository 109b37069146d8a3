package explain

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
)

// TestOperation: the path says what is asked for, and without one the keys of the body do.
func TestOperation(t *testing.T) {
	for _, test := range []struct {
		name, path, body string
		kind             openai.Kind
		api              openai.API
	}{
		{"messages", "", `{"prompt":"p","input":"i","messages":[]}`, openai.KindInference, openai.APIChat},
		{"a prompt", "", `{"input":"i","prompt":"p"}`, openai.KindInference, openai.APICompletions},
		{"an input", "", `{"documents":[],"input":"i"}`, openai.KindInference, openai.APIResponses},
		{"documents", "", `{"documents":[]}`, openai.KindInference, openai.APIRerank},
		{"none of these", "", `{"model":"m"}`, openai.KindInference, openai.APIChat},
		{"no body", "", ``, openai.KindInference, openai.APIChat},
		{"a path", "/v1/completions?x=y", `{"messages":[]}`, openai.KindInference, openai.APICompletions},
		{"a path to clean", "/v1//x/../completions", `{"messages":[]}`, openai.KindInference, openai.APICompletions},
		{"a path of no inference", "/nothing", `{"messages":[]}`, openai.KindOther, openai.APINone},
	} {
		r := Request{Body: []byte(test.body)}
		if test.path != "" {
			r.Headers = map[string]string{":path": test.path}
		}
		if got := r.operation(); got.Kind != test.kind || got.API != test.api {
			t.Errorf("%s: got kind %v of %v, want %v of %v", test.name, got.Kind, got.API, test.kind, test.api)
		}
	}
}

// TestWriteTextOfHeaders: what is predicted and which headers are added are told by name, before where a request goes.
func TestWriteTextOfHeaders(t *testing.T) {
	x := Explanation{Destination: []string{"10.0.0.1:80", "10.0.0.2:80"},
		Predicted:       map[string]Predicted{"b": {120, 20.5}, "a": {7, 0}},
		RequestHeaders:  map[string]string{"y": "2", "x": "1"},
		ResponseHeaders: map[string]string{"w": "4", "v": "3"}}
	const want = `predicted at a: 7 ms to the first token, 0 ms for each further one
predicted at b: 120 ms to the first token, 20.5 ms for each further one
request header x: 1
request header y: 2
response header v: 3
response header w: 4
goes to 10.0.0.1:80, else to 10.0.0.2:80
`
	var got strings.Builder
	if err := x.WriteText(&got); err != nil || got.String() != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, got.String(), want)
	}
}

// TestWriteTextOfThosePassedOver: an endpoint that a filter passed over for others may come behind them all the same.
func TestWriteTextOfThosePassedOver(t *testing.T) {
	x := Explanation{Primary: "p", Destination: []string{"10.0.0.1:80", "10.0.0.2:80"}, Profiles: map[string]*Profile{
		"p": {FilteredOut: map[string]string{"b": "f", "c": "f"}, Totals: map[string]float64{"a": 1},
			Picked: []string{"a", "b"}}}}
	const want = "  b         removed by f, picked 2\n  c         removed by f\n"
	var got strings.Builder
	if err := x.WriteText(&got); err != nil || !strings.Contains(got.String(), want) {
		t.Errorf("got %v and\n%s\nwant in it\n%s", err, got.String(), want)
	}
}
