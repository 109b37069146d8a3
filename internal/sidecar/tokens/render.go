package tokens

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// renderer asks a server that renders prompts as the model servers do, such as vLLM's own: the endpoints /render beside
// those of its API.
type renderer struct {
	server       Server
	model        string
	text, images time.Duration
}

func newRenderer(c *scoring.TokenBackend) *renderer {
	return &renderer{
		server: Server{URL: strings.TrimSuffix(c.URL, "/"), Client: &http.Client{Transport: direct(c.Workers)}},
		model:  c.Model, text: c.Timeout, images: c.MediaTimeout,
	}
}

// direct asks no proxy of the environment, which may be there for the Hub: prompts go to nobody else. It keeps as many
// connections as are used at a time.
func direct(most int) *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: max(most, 1), IdleConnTimeout: time.Minute, DisableCompression: true}
}

// rendered is the answer to one prompt.
type rendered struct {
	Tokens   []uint32  `json:"token_ids"`
	Features *features `json:"features"`
}

func (r *rendered) hasTokens() bool { return r.Tokens != nil }

// renderedTexts is the answer to texts.
type renderedTexts []rendered

func (all *renderedTexts) hasTokens() bool {
	return !slices.ContainsFunc(*all, func(r rendered) bool { return !r.hasTokens() })
}

// features are the media of a prompt by their kind.
type features struct {
	Hashes map[string][]string `json:"mm_hashes"`
	Places map[string][]place  `json:"mm_placeholders"`
}

// place is where the tokens are that stand for one of them.
type place struct {
	Offset int `json:"offset"`
	Length int `json:"length"`
}

// Tokens implements Backend.
func (b *renderer) Tokens(ctx context.Context, p *Prompt) (Encoded, error) {
	question, err := b.question(p)
	if err != nil {
		return Encoded{}, err
	}
	wait, path := b.text, "/v1/completions/render"
	if p.HasMedia() {
		wait = b.images
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if !p.Chat {
		var answers renderedTexts
		err = post(ctx, &b.server, path, question, &answers)
		if err == nil && len(answers) != 1 {
			err = errors.New("the renderer answers with several prompts")
		}
		if err != nil {
			return Encoded{}, err
		}
		return answers[0].encoded()
	}
	var answer rendered
	if err := post(ctx, &b.server, "/v1/chat/completions/render", question, &answer); err != nil {
		return Encoded{}, err
	}
	return answer.encoded()
}

// question is the request with the model that the renderer knows.
func (b *renderer) question(p *Prompt) ([]byte, error) {
	fields, err := p.without("stream", "stream_options")
	if err != nil {
		return nil, err
	}
	fields["model"], _ = json.Marshal(b.model)
	return json.Marshal(fields)
}

// encoded is the answer with its media by their places.
func (r *rendered) encoded() (Encoded, error) {
	e := Encoded{Tokens: r.Tokens}
	if r.Features == nil {
		return e, nil
	}
	for kind, hashes := range r.Features.Hashes {
		places := r.Features.Places[kind]
		if len(places) != len(hashes) {
			return Encoded{}, ErrNone("media without places")
		}
		for i, hash := range hashes {
			e.Media = append(e.Media, Media{hash, places[i].Offset, places[i].Length})
		}
	}
	slices.SortFunc(e.Media, func(a, b Media) int { return cmp.Compare(a.Offset, b.Offset) })
	return e, nil
}
