package producers_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/jpeg"
	"image/png"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// probe keeps how many tokens the prompt has.
type probe struct{ tokens int }

func (p *probe) Score(c *scoring.Cycle, _ []*scoring.Endpoint, _ []float64) {
	p.tokens = c.PromptTokens()
}

func content(parts string) string {
	return `{"model":"m","messages":[{"role":"user","content":[` + parts + `]}]}`
}

// escapeSlashes writes a part as PHP does.
func escapeSlashes(part string) string { return strings.ReplaceAll(part, "/", `\/`) }

// TestPromptIDs: how many ids of 4 bytes a prompt has in llm-d's dialect.
func TestPromptIDs(t *testing.T) {
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewGray(image.Rect(0, 0, 64, 32))); err != nil {
		t.Fatal(err)
	}
	inline := `{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
		base64.StdEncoding.EncodeToString(small.Bytes()) + `"}}`
	var large bytes.Buffer
	if err := jpeg.Encode(&large, image.NewGray(image.Rect(0, 0, 321, 123)), nil); err != nil {
		t.Fatal(err)
	}
	photograph := `{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,` +
		base64.StdEncoding.EncodeToString(large.Bytes()) + `"}}`
	const remote = `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`
	const video = `{"type":"video_url","video_url":{"url":"https://example.com/a.mp4"}}`
	const role = 1 // "user"
	tests := []struct {
		name, estimate, body string
		api                  openai.API
		want                 int
	}{
		{"nothing", `{}`, `{"model":"m","prompt":""}`, openai.APICompletions, 0},
		{"a part of an id", `{}`, `{"model":"m","prompt":"abcde"}`, openai.APICompletions, 2},
		{"several prompts", `{}`, `{"model":"m","prompt":["a","abcde"]}`, openai.APICompletions, 3},
		{"ids as such", `{}`, `{"model":"m","prompt":[1,2,3]}`, openai.APICompletions, 3},
		{"escapes", `{}`, `{"model":"m","prompt":"\n\n\n\n\u00e9\u00e9"}`, openai.APICompletions, 2},
		{"roles", `{}`,
			`{"model":"m","messages":[{"role":"system","content":"ab"},{"role":"user","content":"c"},{"role":"user","content":"d"}]}`,
			openai.APIChat, 5},
		{"tools", `{}`, `{"model":"m","messages":[{"role":"user","content":"abcd"}],"tools":[{"a":123}]}`,
			openai.APIChat, 5},
		{"tool calls", `{}`, `{"model":"m","messages":[{"role":"user","content":"abcd","tool_calls":[{"a":123}]}]}`,
			openai.APIChat, 2},
		{"an image of the body's", `{}`, content(inline), openai.APIChat, role + 2},
		{"an image of the body's, slashes escaped", `{}`, content(escapeSlashes(inline)), openai.APIChat, role + 2},
		{"a photograph, slashes escaped", `{}`, content(escapeSlashes(photograph)), openai.APIChat, role + 321*123/1024},
		{"an image elsewhere", `{}`, content(remote), openai.APIChat, role + 225},
		{"another factor", `{"image": {"dynamic": {"factor": 2048}}}`, content(remote), openai.APIChat, role + 112},
		{"another size", `{"image": {"defaultResolution": {"width": 1280, "height": 720}}}`,
			content(remote), openai.APIChat, role + 900},
		{"a number", `{"image": {"mode": "static", "static": {"staticToken": 7}}}`, content(remote), openai.APIChat,
			role + 7},
		{"text around it", `{}`, content(`{"type":"text","text":"abcde"},` + remote + `,{"type":"text","text":"f"}`),
			openai.APIChat, 3 + 225 + 1},
		{"a video", `{}`, content(video), openai.APIChat, role + 4500},
		{"at most", `{"video": {"maxVideoTokens": 500}}`, content(video), openai.APIChat, role + 500},
		{"strided",
			`{"video": {"frames": {"mode": "strided", "strided": {"frameStride": 4}, "maxFrames": 16},
			"tokensPerFrame": {"mode": "static", "static": {"numTokensPerFrame": 256}}}}`, content(video),
			openai.APIChat, role + 4096},
		{"sampled",
			`{"video": {"defaultDuration": 1, "frames": {"minFrames": 4, "sampled": {"temporalPatchSize": 2}},
			"tokensPerFrame": {"mode": "static"}}}`,
			content(video), openai.APIChat, role + 2},
		{"audio", `{}`, content(`{"type":"audio_url","audio_url":{"url":"12345"}}`), openai.APIChat, role + 2},
		{"audio with escapes", `{}`, content(`{"type":"audio_url","audio_url":{"url":"\/\/\/45"}}`), openai.APIChat,
			role + 2},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := &probe{}
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "probe"},
				{"type": "token-producer", "parameters": {"estimate": `+tc.estimate+`}}]}`, plantest.Neutral,
				scoring.Registration{Type: "probe", New: func(*scoring.Builder) scoring.Plugin { return p }})
			c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}, scoring.Endpoint{}), 1)
			if failure := c.Request.Read(new(openai.Request), tc.api, []byte(tc.body)); failure != nil {
				t.Fatal(failure.Message)
			}
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			if p.tokens != tc.want {
				t.Errorf("%s: got %d ids, want %s", tc.body, p.tokens, strconv.Itoa(tc.want))
			}
			if n := testing.AllocsPerRun(20, func() { _, _ = plan.Decide(c) }); n != 0 {
				t.Errorf("got %v allocations, want none", n)
			}
		})
	}
}
