package sim

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/tidwall/gjson"
)

type modelCard struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root"`
	Parent      *string `json:"parent"`
	MaxModelLen *int    `json:"max_model_len"`
}

func (s *Server) models() []modelCard {
	maxTokens := s.config.maxTokens()
	var cards []modelCard
	for _, name := range s.config.Models {
		cards = append(cards, modelCard{ID: name, Object: "model", OwnedBy: "sim", Root: name, MaxModelLen: &maxTokens})
	}
	for _, name := range s.config.Adapters {
		cards = append(cards, modelCard{ID: name, Object: "model", OwnedBy: "sim", Root: name,
			Parent: &s.config.Models[0]})
	}
	return cards
}

func (s *Server) listModels(w http.ResponseWriter) {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": s.models()})
}

func (s *Server) showModel(w http.ResponseWriter, name string) {
	cards := s.models()
	i := slices.IndexFunc(cards, func(c modelCard) bool { return c.ID == name })
	if i < 0 {
		(&apiError{http.StatusNotFound, fmt.Sprintf("the model %q does not exist", name), "NotFoundError",
			"model"}).write(w)
		return
	}
	writeJSON(w, http.StatusOK, cards[i])
}

// tokenize shows the pseudo tokens of a body with "messages" or "prompt".
func (s *Server) tokenize(w http.ResponseWriter, body []byte) {
	f, failure := parseFields(body)
	if failure != nil {
		failure.write(w)
		return
	}
	r := &request{api: apiCompletions}
	if f["messages"].Exists() {
		r.api = apiChat
	}
	if failure := r.setPrompt(f); failure != nil {
		failure.write(w)
		return
	}
	tokens := make([]uint32, r.prompt.tokens())
	for i := range tokens {
		tokens[i] = binary.LittleEndian.Uint32(r.prompt[i*tokenBytes:])
	}
	writeJSON(w, http.StatusOK,
		map[string]any{"count": len(tokens), "max_model_len": s.config.maxTokens(), "tokens": tokens})
}

// lookup shows how much of a prompt is cached, by the rank that has most and by all, and changes nothing.
func (s *Server) lookup(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.config.MaxBodyBytes))
	if err != nil {
		badRequest("", err.Error()).write(w)
		return
	}
	a := apiCompletions
	if gjson.GetBytes(body, "messages").Exists() {
		a = apiChat
	}
	q, failure := parseRequest(a, body, s.config)
	if failure != nil {
		failure.write(w)
		return
	}
	ranks := s.engine.find(q.prompt.blockHashes(s.config.BlockTokens, q.salt))
	most := slices.MaxFunc(ranks, func(a, b found) int { return cmp.Compare(a.Blocks, b.Blocks) })
	writeJSON(w, http.StatusOK, map[string]any{"blocks": most.Blocks, "ranks": ranks})
}

// embeddings answers with unit vectors that depend on model and text alone.
func embeddings(q *request, u usage) any {
	data := make([]any, len(q.inputs))
	for i, text := range q.inputs {
		vector := embed(q.model, text, q.dimensions)
		var shown any = vector
		if q.base64 {
			raw := make([]byte, 0, 4*len(vector))
			for _, v := range vector {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
			}
			shown = base64.StdEncoding.EncodeToString(raw)
		}
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": shown}
	}
	return map[string]any{
		"object": "list", "model": q.model, "data": data,
		"usage": map[string]int{"prompt_tokens": u.prompt, "total_tokens": u.prompt},
	}
}

func embed(model, text string, dimensions int) []float32 {
	seed := xxhash.Sum64String(model + "\x00" + text)
	vector := make([]float32, dimensions)
	var sum float64
	for i := range vector {
		v := float64(mix(seed+uint64(i)))/math.MaxUint64*2 - 1
		vector[i] = float32(v)
		sum += v * v
	}
	for i := range vector {
		vector[i] /= float32(math.Sqrt(sum))
	}
	return vector
}
