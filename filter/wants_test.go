package main_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
)

// TestWhatIsToldOfAnswers: without a follower the journal has of answers what the plug-ins go by, be it one alone.
func TestWhatIsToldOfAnswers(t *testing.T) {
	const beside = `,{"type":"queue-scorer"}`
	tests := []struct {
		name, plugins, shadow string
		began, ended, usage   bool
	}{
		{"nothing", `{"type":"queue-scorer"}`, "", false, false, false},
		{"where prompts are", `{"type":"prefix-cache-scorer"}`, "", true, true, true},
		{"where images are", `{"type":"mm-embeddings-cache-producer"}` + beside, "", true, true, true},
		{"how fast servers are", `{"type":"predicted-latency-scorer"}`, "", true, true, true},
		{"what waits for prompts", `{"type":"inflight-load-producer"}` + beside, "", true, true, true},
		{"how long texts are", `{"type":"token-length-scorer"}`, "", false, true, true},
		{"how many tokens servers make", `{"type":"throughput"}`, "", false, true, true},
		{"how late they are", `{"type":"least-latency"}`, "", false, true, true},
		{"what users use", `{"type":"vtc-basic"}`, "", false, true, true},
		{"what a shadow goes by alone", `{"type":"queue-scorer"}`, `{"type":"prefix-cache-scorer"}`, true, true, true},
		{"what a shadow does not go by", `{"type":"prefix-cache-scorer"}`, `{"type":"queue-scorer"}`, true, true, true},
		{"how many requests there are", `{"type":"least-request"}`, "", false, true, false},
	}
	m := modes[2]
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			extra := `"failing":{"policy":"ignore"},"load":{"correction":false},`
			if tc.shadow != "" {
				extra += `"shadow":{"config":{"plugins":[` + tc.shadow + `]}},`
			}
			g := newGateway(t, m, 1, m.configuration(`{"plugins":[`+tc.plugins+`]}`, extra))
			g.publish(newPool(0))
			s := g.workers[0].askBody(streamedCompletion)
			s.SetServer(address(0))
			s.Respond(wazerohost.Headers{{":status", "200"}, {"content-type", "text/event-stream"}}, false)
			s.RespondBody([]byte("data: {\"choices\":[{\"text\":\"a\"}]}\n\n"), false)
			s.RespondBody([]byte(`data: {"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":7}}`+"\n\n"), true)
			s.Finish()
			ended := g.completions()
			usage := len(ended) == 1 && ended[0].InputTokens == 40 && ended[0].OutputTokens == 7
			if began := len(g.events(journal.Began)) == 1; began != tc.began || (len(ended) == 1) != tc.ended ||
				usage != tc.usage {
				t.Errorf("told of the beginning: %v, of the end: %v, of tokens: %v, want %v, %v, %v", began,
					len(ended) == 1, usage, tc.began, tc.ended, tc.usage)
			}
		})
	}
}
