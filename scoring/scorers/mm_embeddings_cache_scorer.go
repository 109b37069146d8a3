package scorers

import "github.com/pintle-dev/pintle/scoring"

// mmEmbeddingsCacheScorer prefers endpoints that likely have the embeddings of a prompt's images, audios and videos, as
// a mm-embeddings-cache-producer says.
//
// Formula: different media of the prompt that the endpoint has / different media of the prompt.
//
// Range: 0 to 1.
//
// Missing data: without media every endpoint scores 0.
//
// Source: llm-d, mm-embeddings-cache-scorer.
type mmEmbeddingsCacheScorer struct{ key scoring.MatchKey }

type mmEmbeddingsCacheScorerParameters struct {
	// ProducerName names the mm-embeddings-cache-producer. Empty: the one of that name, which is added if none is
	// declared.
	ProducerName string
}

// NewMMEmbeddingsCacheScorer builds an mm-embeddings-cache-scorer.
func NewMMEmbeddingsCacheScorer(b *scoring.Builder) scoring.Plugin {
	p := mmEmbeddingsCacheScorerParameters{}
	b.String("producerName", &p.ProducerName)
	return mmEmbeddingsCacheScorer{b.MediaMatches("producerName", p.ProducerName)}
}

// Score implements scoring.Scorer.
func (s mmEmbeddingsCacheScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	m := c.PrefixMatches(s.key)
	if m.Blocks == 0 {
		return
	}
	for i, e := range candidates {
		scores[i] = float64(m.Matched(e)) / float64(m.Blocks)
	}
}
