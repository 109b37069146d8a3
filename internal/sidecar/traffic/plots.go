package traffic

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/journal"
)

const (
	// plotStep is how long a point of a plot lasts, plotPoints how many there are.
	plotStep   = 5 * time.Second
	plotPoints = 180
	// mostPlotted bounds the endpoints that are plotted.
	mostPlotted = 32
	// ttftBins are classes of times that each are a tenth wider than the one before, from 1 ms on.
	ttftBins = 128
)

// plots are what the status page draws: the last 15 minutes.
type plots struct{ points [plotPoints]point }

// point is what happened within a step.
type point struct {
	step                  int64 // since 1970
	requests, refused     int
	input, cached         uint64
	expectedOf, expected  uint64 // as input and cached, of those whose cached tokens were predicted
	ttft                  [ttftBins]uint32
	measured              uint32
	inFlight, waitingHere map[string]int
}

// at returns the point of a time, nil for one that is too old. A point that is further ahead of now than there are
// points is of a clock that was ahead, and makes way.
func (p *plots) at(nanos int64, now func() time.Time) *point {
	step := nanos / int64(plotStep)
	at := &p.points[uint64(step)%plotPoints]
	switch {
	case at.step > step && at.step >= now().UnixNano()/int64(plotStep)+plotPoints:
		*at = point{step: step}
	case at.step > step:
		return nil
	case at.step < step:
		*at = point{step: step}
	}
	return at
}

// correct drops the points that are ahead of now, of a clock that was: they would count again when their time comes.
func (p *plots) correct(now time.Time) {
	for i := range p.points {
		if at := &p.points[i]; at.step > now.UnixNano()/int64(plotStep)+1 {
			*at = point{}
		}
	}
}

func (p *plots) take(e *follow.Event, now func() time.Time) {
	if e.Kind != journal.Completion && e.Kind != journal.Refused {
		return
	}
	at := p.at(e.Time, now)
	if at == nil {
		return
	}
	if e.Kind == journal.Refused {
		at.refused++
		return
	}
	at.requests++
	if e.CachedReported {
		at.input += uint64(e.InputTokens)
		at.cached += uint64(e.CachedTokens)
		if e.Predicted {
			at.expectedOf += uint64(e.InputTokens)
			at.expected += uint64(min(e.PredictedTokens, e.InputTokens))
		}
	}
	// An error's first byte is none of a token.
	if e.Streamed && e.TTFTMicros > 0 && e.Code >= 200 && e.Code <= 299 {
		bin := int(math.Log(max(millis(e.TTFTMicros), 1)) / math.Log(1.1))
		at.ttft[min(bin, ttftBins-1)]++
		at.measured++
	}
}

// quantile is the time in milliseconds that a share of the answers began within, nil when there were none.
func (p *point) quantile(q float64) *float64 {
	if p.measured == 0 {
		return nil
	}
	rank := uint32(math.Ceil(q * float64(p.measured)))
	n := uint32(0)
	for bin, count := range p.ttft {
		if n += count; n >= rank {
			value := math.Pow(1.1, float64(bin)+0.5)
			return &value
		}
	}
	return nil
}

// Plots are the last 15 minutes as the status page draws them: lists of one number for each step, null where nothing
// is known. The last step is not over, so that requests of it are yet to come.
type Plots struct {
	// Step is in seconds, End when the last one began.
	Step     float64               `json:"step"`
	End      time.Time             `json:"end"`
	Requests []*float64            `json:"requests"` // each second
	Refused  []*float64            `json:"refused"`
	TTFT50   []*float64            `json:"ttft50"` // milliseconds
	TTFT90   []*float64            `json:"ttft90"`
	HitRate  []*float64            `json:"hitRate"` // part of the prompt tokens
	Expected []*float64            `json:"expectedHitRate"`
	InFlight map[string][]*float64 `json:"inFlight"`
	Waiting  map[string][]*float64 `json:"waiting"`
}

// Sample takes down how many requests are in flight and waiting, for the plots, and what endpoints say of their caches.
// To be called each second or so.
func (t *Traffic) Sample(g *pool.Generation, c *config.Metrics) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.state.Expire(now.UnixNano())
	if t.prefixes != nil {
		t.prefixes.tell(g)
	}
	t.plots.correct(now)
	at := t.plots.at(now.UnixNano(), t.now)
	if at == nil {
		return
	}
	at.inFlight, at.waitingHere = map[string]int{}, map[string]int{}
	for _, l := range t.loads(g, c) {
		for name, n := range l.inFlightOf {
			at.inFlight[name] = n
		}
		for name, n := range l.queueOf {
			at.waitingHere[name] = n
		}
	}
}

// Plots returns what there is to plot.
func (t *Traffic) Plots() Plots {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.now().UnixNano() / int64(plotStep)
	p := Plots{Step: plotStep.Seconds(), End: time.Unix(0, last*int64(plotStep)), InFlight: map[string][]*float64{},
		Waiting: map[string][]*float64{}}
	names := t.endpoints[:min(len(t.endpoints), mostPlotted)]
	for step := last - plotPoints + 1; step <= last; step++ {
		at := &t.plots.points[uint64(step)%plotPoints]
		if at.step != step {
			at = &point{}
		}
		p.Requests = append(p.Requests, number(float64(at.requests)/plotStep.Seconds(), !t.blind))
		p.Refused = append(p.Refused, number(float64(at.refused)/plotStep.Seconds(), !t.blind))
		p.TTFT50, p.TTFT90 = append(p.TTFT50, at.quantile(.5)), append(p.TTFT90, at.quantile(.9))
		p.HitRate = append(p.HitRate, number(float64(at.cached)/float64(at.input), at.input > 0))
		p.Expected = append(p.Expected, number(float64(at.expected)/float64(at.expectedOf), at.expectedOf > 0))
		for _, name := range names {
			inFlight, known := at.inFlight[name]
			p.InFlight[name] = append(p.InFlight[name], number(float64(inFlight), known))
			waiting, known := at.waitingHere[name]
			p.Waiting[name] = append(p.Waiting[name], number(float64(waiting), known))
		}
	}
	return p
}

func number(value float64, known bool) *float64 {
	if !known {
		return nil
	}
	return &value
}
