package traffic

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/state"
)

// Speed is how fast an endpoint answers, as all workers of Envoy have learnt it too.
type Speed struct {
	// PromptTokensPerSecond is what it computes of prompts, 0 as long as that is not known.
	PromptTokensPerSecond float64
	// TTFT and TPOT tell how well its times were predicted; without samples nothing was.
	TTFT, TPOT state.Accuracy
}

// Speed tells how fast an endpoint answers. ok is false where nothing was predicted for it: where no plug-in goes by
// tokens to compute, decisions do not tell them.
func (t *Traffic) Speed(endpoint string) (s Speed, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.speed(endpoint)
}

func (t *Traffic) speed(endpoint string) (s Speed, ok bool) {
	index := t.index(endpoint)
	if index < 0 {
		return Speed{}, false
	}
	s.TTFT, s.TPOT, _ = t.state.InFlight.Accuracy(index)
	if rate, known := t.state.InFlight.Throughput(index); known {
		s.PromptTokensPerSecond = rate
	}
	return s, s.TTFT.Samples > 0
}

// speedGauges tell how fast endpoints answer, and what was predicted of late.
type speedGauges struct{ traffic *Traffic }

func speedDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"endpoint"}, nil)
}

var (
	throughputDesc = speedDesc("pintle_learnt_prompt_tokens_per_second",
		"Tokens of prompts that the endpoint computes in a second, as its answers tell.")
	ttftDescs = [3]*prometheus.Desc{
		speedDesc("pintle_predicted_time_to_first_token_seconds",
			"What was predicted for the endpoint's streamed answers of late, in the mean."),
		speedDesc("pintle_actual_time_to_first_token_seconds", "What became of that, in the mean."),
		speedDesc("pintle_time_to_first_token_prediction_error",
			"Mean of |predicted - actual| / actual of the endpoint's streamed answers of late."),
	}
	tpotDescs = [3]*prometheus.Desc{
		speedDesc("pintle_predicted_time_per_output_token_seconds",
			"What was predicted for the endpoint's streamed answers of late, in the mean."),
		speedDesc("pintle_actual_time_per_output_token_seconds", "What became of that, in the mean."),
		speedDesc("pintle_time_per_output_token_prediction_error",
			"Mean of |predicted - actual| / actual of the endpoint's streamed answers of late."),
	}
)

// Describe implements prometheus.Collector.
func (g speedGauges) Describe(out chan<- *prometheus.Desc) {
	out <- throughputDesc
	for i := range ttftDescs {
		out <- ttftDescs[i]
		out <- tpotDescs[i]
	}
}

// Collect implements prometheus.Collector. It is called with the traffic locked, see Gatherer.
func (g speedGauges) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, endpoint string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, endpoint)
	}
	for _, endpoint := range g.traffic.endpoints {
		s, ok := g.traffic.speed(endpoint)
		if !ok {
			continue
		}
		if s.PromptTokensPerSecond > 0 {
			gauge(throughputDesc, s.PromptTokensPerSecond, endpoint)
		}
		for i, v := range [3]float64{s.TTFT.Predicted, s.TTFT.Actual, s.TTFT.Error} {
			gauge(ttftDescs[i], v, endpoint)
		}
		for i, v := range [3]float64{s.TPOT.Predicted, s.TPOT.Actual, s.TPOT.Error} {
			if s.TPOT.Samples > 0 {
				gauge(tpotDescs[i], v, endpoint)
			}
		}
	}
}
