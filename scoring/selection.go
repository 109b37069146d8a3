package scoring

import (
	"math"

	"github.com/pintle-dev/pintle/state"
)

// ModelSelector chooses the model that serves a request for a virtual one, before any profile runs. It takes part by
// being declared; the first of them that knows the request's model chooses, and only endpoints that serve its choice
// are candidates.
type ModelSelector interface {
	// SelectModel returns the model to ask for in place of the request's, or why there is none. An empty model says
	// that the request's is not one of its virtual models.
	SelectModel(c *Cycle) (model string, failure *Failure)
}

// Selection is a choice of a model as a Tracer is told of it.
type Selection struct {
	// Decision is the virtual model that the request names.
	Decision string
	// Model is the one chosen, empty when there is none.
	Model string
	// Reason is a code for why it was this one, or why there is none.
	Reason string
	Models []ModelOption
}

// ModelOption is one of the models to choose from.
type ModelOption struct {
	Model string
	// Removed says what kept the model from being chosen; empty when it was rated.
	Removed string
	Score   float64
	// Signals are what is known of the model, Ratings what was made of it, before weights.
	Signals, Ratings []NamedValue
}

// NamedValue is a number under the name that documentation gives it.
type NamedValue struct {
	Name  string
	Value float64
}

// selectModel lets the selectors settle which model the request is for.
func (c *Cycle) selectModel() *Failure {
	for _, selector := range c.plan.selectors {
		model, failure := selector.SelectModel(c)
		if failure != nil {
			return failure
		}
		if model != "" {
			c.Request.Model = model
			return nil
		}
	}
	return nil
}

// InFlightOfModel is how many requests were sent for a model and have not ended. place is from
// state.Options.WatchModel.
func (c *Cycle) InFlightOfModel(place int) int {
	if c.Pool.State == nil || c.Pool.State.InFlight == nil {
		return 0
	}
	return c.Pool.State.InFlight.OfModel(place)
}

// LatencyOfModel returns the q-quantiles of a model's latencies, NaN where nothing is known. model is a
// journal.HashName.
func (c *Cycle) LatencyOfModel(model uint64, q float64) (ttftMillis, tpotMillis float64) {
	if c.Pool.State == nil || c.Pool.State.Models == nil {
		return math.NaN(), math.NaN()
	}
	models := c.Pool.State.Models
	return quantiles(&models.Latency, models.Index(model), q)
}

// Latency returns the q-quantiles of an endpoint's latencies, NaN where nothing is known.
func (c *Cycle) Latency(e *Endpoint, q float64) (ttftMillis, tpotMillis float64) {
	if c.Pool.State == nil || c.Pool.State.Latency == nil {
		return math.NaN(), math.NaN()
	}
	return quantiles(c.Pool.State.Latency, e.StateIndex, q)
}

func quantiles(l *state.Latency, index int, q float64) (ttftMillis, tpotMillis float64) {
	return quantile(l.TTFT, index, q), quantile(l.TPOT, index, q)
}

func quantile(w *state.Windows, index int, q float64) float64 {
	if micros := w.Percentile(index, q); micros > 0 {
		return micros / 1000
	}
	return math.NaN()
}
