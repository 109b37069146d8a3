package producers_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/jpeg"
	"image/png"
	"slices"
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
		{"a video's size", `{"video": {"defaultResolution": {"width": 1280, "height": 720}}}`, content(video),
			openai.APIChat, role + 20*900},
		{"a video's factor", `{"video": {"tokensPerFrame": {"dynamic": {"factor": 2048}}}}`, content(video),
			openai.APIChat, role + 20*112},
		{"a video's duration", `{"video": {"defaultDuration": 1.5}}`, content(video), openai.APIChat, role + 3*225},
		{"a video of no time", `{"video": {"defaultDuration": 0}}`, content(video), openai.APIChat, role + 1},
		{"no bound", `{"video": {"maxVideoTokens": 0}}`, content(video), openai.APIChat, role + 4500},
		{"sampled less often", `{"video": {"frames": {"sampled": {"sampleFPS": 0.5}}}}`, content(video),
			openai.APIChat, role + 5*225},
		{"patches of one", `{"video": {"frames": {"sampled": {"temporalPatchSize": 1}}}}`, content(video),
			openai.APIChat, role + 4500},
		{"patches of nothing", `{"video": {"frames": {"sampled": {"temporalPatchSize": 0}}}}`, content(video),
			openai.APIChat, role + 4500},
		{"the most frames, then patches", `{"video": {"frames": {"maxFrames": 5, "sampled": {"temporalPatchSize": 2}}}}`,
			content(video), openai.APIChat, role + 2*225},
		{"a frame at most", `{"video": {"frames": {"maxFrames": 1}}}`, content(video), openai.APIChat, role + 225},
		{"any number of frames", `{"video": {"frames": {"maxFrames": 0}}}`, content(video), openai.APIChat, role + 4500},
		{"a token at most", `{"video": {"maxVideoTokens": 1}}`, content(video), openai.APIChat, role + 1},
		{"an id of audio", `{}`, content(`{"type":"audio_url","audio_url":{"url":"1234"}}`), openai.APIChat, role + 1},
		{"more frames at least than at most", `{"video": {"frames": {"minFrames": 30, "maxFrames": 5}}}`,
			content(video), openai.APIChat, role + 5*225},
		{"every frame", `{"video": {"frames": {"mode": "strided"}}}`, content(video), openai.APIChat, role + 240*225},
		{"strided, of another source", `{"video": {"frames": {"mode": "strided", "sampled": {"temporalPatchSize": 2},
			"strided": {"defaultSourceFPS": 10, "frameStride": 3}}}}`, content(video), openai.APIChat, role + 33*225},
		{"an image of one token", `{"image": {"mode": "static"}}`, content(remote), openai.APIChat, role + 1},
		{"an image of less than one", `{"image": {"dynamic": {"factor": 2147483647}}}`, content(remote), openai.APIChat,
			role + 1},
		{"an image beyond measure", `{"image": {"defaultResolution": {"width": 65536, "height": 65536},
			"dynamic": {"factor": 1}}}`, content(remote), openai.APIChat, role + 1<<20},
		{"a video beyond measure", `{"video": {"defaultResolution": {"width": 65536, "height": 65536},
			"tokensPerFrame": {"dynamic": {"factor": 1}}}}`, content(video), openai.APIChat, role + 1<<20},
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

// TestOneEstimate: of several plug-ins the first one's estimate counts, and the operator is told. One without an
// estimate, which says who makes tokens, leaves it alone.
func TestOneEstimate(t *testing.T) {
	const seven, eight = `"estimate": {"image": {"mode": "static", "static": {"staticToken": 7}}}`,
		`"estimate": {"image": {"mode": "static", "static": {"staticToken": 8}}}`
	for _, tc := range []struct {
		name, first, second string
		want                int // ids of an image
		told                bool
	}{
		{"none", "", "", 225, false},
		{"the first one's", seven, "", 7, false},
		{"the second one's", "", seven, 7, false},
		{"both alike", seven, seven, 7, false},
		{"two", seven, eight, 7, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &probe{}
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "probe"},
				{"type": "token-producer", "parameters": {`+tc.first+`}},
				{"type": "token-producer", "name": "second", "parameters": {`+tc.second+`}}]}`, plantest.Neutral,
				scoring.Registration{Type: "probe", New: func(*scoring.Builder) scoring.Plugin { return p }})
			c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}, scoring.Endpoint{}), 1)
			if failure := c.Request.Read(new(openai.Request), openai.APIChat,
				[]byte(content(`{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`))); failure != nil {
				t.Fatal(failure.Message)
			}
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			const told = "second: estimate has no effect: another plug-in has one, too"
			if p.tokens != 1+tc.want || slices.Contains(plan.Warnings(), told) != tc.told {
				t.Errorf("got %d ids, told %q; want %d with the role's, and %q told: %v", p.tokens, plan.Warnings(),
					1+tc.want, told, tc.told)
			}
		})
	}
}

// TestEstimateOfOtherModes: the operator is told of numbers that the mode does not go by, as where it is left out.
func TestEstimateOfOtherModes(t *testing.T) {
	const at, dynamic = "token-producer: estimate.", " has no effect with mode: dynamic"
	for _, tc := range []struct{ name, estimate, warnings string }{
		{"each of its mode", `{"image": {"mode": "static", "static": {"staticToken": 7}}, "video": {"frames":
			{"sampled": {"sampleFPS": 1}}, "tokensPerFrame": {"dynamic": {"factor": 9}}}}`, ""},
		{"an image's number without a mode", `{"image": {"static": {"staticToken": 7}}}`, at + "image.static" + dynamic},
		{"an image's factor", `{"image": {"mode": "static", "dynamic": {"factor": 7}}}`,
			at + "image.dynamic has no effect with mode: static"},
		{"a frame's number", `{"video": {"tokensPerFrame": {"static": {"numTokensPerFrame": 7}}}}`,
			at + "video.tokensPerFrame.static" + dynamic},
		{"a stride", `{"video": {"frames": {"strided": {"frameStride": 7}}}}`,
			at + "video.frames.strided has no effect with mode: sampled"},
		{"a rate", `{"video": {"frames": {"mode": "strided", "sampled": {"sampleFPS": 7}}}}`,
			at + "video.frames.sampled has no effect with mode: strided"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "token-producer",
				"parameters": {"estimate": `+tc.estimate+`}}]}`, "", tc.warnings)
		})
	}
}

// TestEstimateMistakes: what is wrong with an estimate is said by its key.
func TestEstimateMistakes(t *testing.T) {
	const large = " is not a whole number from 1 to 2147483647"
	for _, tc := range []struct{ name, estimate, want string }{
		{"defaults", `{}`, ""},
		{"a mode of images", `{"image": {"mode": "x"}}`, `image.mode: "x" is not one of dynamic, static`},
		{"a width of nothing", `{"image": {"defaultResolution": {"width": 0}}}`,
			"image.defaultResolution.width: 0 is not a whole number from 1 to 65536"},
		{"a height too large", `{"image": {"defaultResolution": {"height": 65537}}}`,
			"image.defaultResolution.height: 65537 is not a whole number from 1 to 65536"},
		{"a factor of nothing", `{"image": {"dynamic": {"factor": 0}}}`, "image.dynamic.factor: 0" + large},
		{"an image of nothing", `{"image": {"static": {"staticToken": 0}}}`, "image.static.staticToken: 0" + large},
		{"a frame of nothing", `{"video": {"tokensPerFrame": {"static": {"numTokensPerFrame": 0}}}}`,
			"video.tokensPerFrame.static.numTokensPerFrame: 0" + large},
		{"a mode of frames", `{"video": {"frames": {"mode": "x"}}}`,
			`video.frames.mode: "x" is not one of sampled, strided`},
		{"a mode of tokens", `{"video": {"tokensPerFrame": {"mode": "x"}}}`,
			`video.tokensPerFrame.mode: "x" is not one of dynamic, static`},
		{"a stride of nothing", `{"video": {"frames": {"strided": {"frameStride": 0}}}}`,
			"video.frames.strided.frameStride: 0" + large},
		{"a time too long", `{"video": {"defaultDuration": 1000001}}`,
			"video.defaultDuration: 1000001 is not a number from 0 to 1000000"},
		{"too many frames a second", `{"video": {"frames": {"sampled": {"sampleFPS": 1001}}}}`,
			"video.frames.sampled.sampleFPS: 1001 is not a number from 0 to 1000"},
		{"too many frames a second of a source", `{"video": {"frames": {"strided": {"defaultSourceFPS": 1001}}}}`,
			"video.frames.strided.defaultSourceFPS: 1001 is not a number from 0 to 1000"},
		{"another key", `{"sound": {}}`, `: unknown key "sound"`},
		{"another key of images", `{"image": {"x": 1}}`, `image: unknown key "x"`},
		{"another key of a size", `{"image": {"defaultResolution": {"x": 1}}}`,
			`image.defaultResolution: unknown key "x"`},
		{"another key of a factor", `{"image": {"dynamic": {"x": 1}}}`, `image.dynamic: unknown key "x"`},
		{"another key of a number", `{"image": {"static": {"x": 1}}}`, `image.static: unknown key "x"`},
		{"another key of tokens", `{"video": {"tokensPerFrame": {"x": 1}}}`, `video.tokensPerFrame: unknown key "x"`},
		{"another key of a frame's number", `{"video": {"tokensPerFrame": {"static": {"x": 1}}}}`,
			`video.tokensPerFrame.static: unknown key "x"`},
		{"another key of sampling", `{"video": {"frames": {"sampled": {"x": 1}}}}`,
			`video.frames.sampled: unknown key "x"`},
		{"another key of striding", `{"video": {"frames": {"strided": {"x": 1}}}}`,
			`video.frames.strided: unknown key "x"`},
		{"another key of videos", `{"video": {"x": 1}}`, `video: unknown key "x"`},
		{"another key of frames", `{"video": {"frames": {"x": 1}}}`, `video.frames: unknown key "x"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plantest.Mistakes(`{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "token-producer",
				"parameters": {"estimate": ` + tc.estimate + `}}]}`)
			want := strings.Replace("plugins[0](token-producer).parameters.estimate."+tc.want, ".:", ":", 1)
			if tc.want == "" {
				want = ""
			}
			if !strings.HasPrefix(got, want) || want == "" && got != "" || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
