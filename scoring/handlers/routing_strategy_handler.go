package handlers

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// routingStrategyHandler lets each request name the strategy by which it is routed: the value of a header is the name
// of a scheduling profile, and exactly that one runs.
//
// A value such as a:2,b:1 mixes strategies. Weights are whole numbers from 0 to 1,000,000, and 1 when left out. A
// strategy of weight 0 does not count and need not be known; one that is named twice, or by two names of its profile,
// counts with both weights. An endpoint must pass the filters of all strategies, and the picker of the first one named
// picks. Only strategies with scorers can be mixed: one that has random-picker or power-of-two alone cannot.
//
// Formula of a mix: sum of norm x weight / sum of weights, where norm is (total - min) / (max - min) of a profile's
// totals over the candidates, 1 when they are all equal.
//
// A strategy that is not known is answered with status 400 and the reason unknown_strategy, a value that cannot be read
// with invalid_strategy.
//
// Source: AIBrix, request header routing-strategy and soft scoring of several strategies. There the answer carries the
// header x-error-routing, an endpoint without a metric counts as the worst in a mix (here as the middle, see
// stale.policy), and candidates are shuffled for each request. Without a header and a default AIBrix leaves the request
// to plain Kubernetes balancing.
type routingStrategyHandler struct {
	header     scoring.HeaderKey
	fallback   string
	strategies []strategy
	// weights are those of the request at hand, by strategy; first is the profile that it named first.
	weights []int
	first   int
	// wrong notes what is wrong with the default; nil where none is given, or that has been noted.
	wrong func(text string)
}

type routingStrategyHandlerParameters struct {
	// Header is the request header that names the strategy.
	Header string
	// Default is the strategy, or the mix, of requests without the header. When it is not given it is the environment's
	// ROUTING_ALGORITHM, else its AIBRIX_ROUTING_ALGORITHM, else the first scheduling profile.
	Default string
	// Strategies maps names of strategies to scheduling profiles. Without it every profile is a strategy of its own
	// name, which must have no colon or comma; with it only those listed can be chosen.
	Strategies []strictjson.Pair
}

type strategy struct {
	name    string
	profile int
}

// mostStrategyWeight bounds the weight of one item.
const mostStrategyWeight = 1_000_000

// NewRoutingStrategyHandler builds a routing-strategy-handler.
func NewRoutingStrategyHandler(b *scoring.Builder) scoring.Plugin {
	h := &routingStrategyHandler{}
	p := routingStrategyHandlerParameters{Header: "routing-strategy"}
	b.HeaderName("header", &p.Header)
	if p.Header == "" {
		b.Missing("header", "name the request header that names the strategy")
	}
	h.header = b.RequestHeader(p.Header)
	b.StringMap("strategies", &p.Strategies)
	h.readStrategies(b, p.Strategies)
	h.weights = make([]int, len(h.strategies))
	h.readDefault(b)
	return h
}

func (h *routingStrategyHandler) readStrategies(b *scoring.Builder, pairs []strictjson.Pair) {
	for _, pair := range pairs {
		if pair.Key == "" || strings.ContainsAny(pair.Key, ":, ") {
			b.Mistake("strategies", strconv.Quote(pair.Key)+
				" cannot be named in a header; leave out colons, commas and spaces")
		}
		h.strategies = append(h.strategies, strategy{pair.Key, b.Profile("strategies."+pair.Key, pair.Value)})
	}
	if b.Has("strategies") {
		return
	}
	for i, name := range b.Profiles() {
		if strings.ContainsAny(name, ":,") || strings.TrimSpace(name) != name {
			b.Missing("strategies", "map a name without colons and commas to the profile "+strconv.Quote(name)+
				", which cannot be named in a header")
		}
		h.strategies = append(h.strategies, strategy{name, i})
	}
}

func (h *routingStrategyHandler) readDefault(b *scoring.Builder) {
	h.fallback = h.nameOf(0)
	for _, name := range [...]string{"ROUTING_ALGORITHM", "AIBRIX_ROUTING_ALGORITHM"} {
		value, ok := b.Environment(name)
		if !ok || b.Has("default") {
			continue
		}
		h.fallback = value
		h.wrong = func(text string) {
			b.Mistake("", "the environment variable "+name+" is "+strconv.Quote(value)+": "+text)
		}
		break
	}
	if b.String("default", &h.fallback); b.Has("default") {
		h.wrong = func(text string) { b.Mistake("default", text) }
	}
	if h.wrong == nil {
		return
	}
	if failure := h.parse(h.fallback); failure != nil {
		h.wrong(failure.Message)
		h.wrong = nil
	}
}

// Link implements scoring.Linked: whether the default can be mixed shows once the profiles have their scorers.
func (h *routingStrategyHandler) Link(l *scoring.Linker) {
	if h.wrong == nil {
		return
	}
	h.parse(h.fallback)
	if _, failure := h.mixes(l); failure != nil {
		h.wrong(failure.Message)
	}
	h.wrong = nil
}

// Admit implements scoring.Admitter.
func (h *routingStrategyHandler) Admit(c *scoring.Cycle) *scoring.Failure {
	text := c.Request.Header(h.header)
	if text == "" {
		text = h.fallback
	}
	if failure := h.read(text); failure != nil {
		return failure
	}
	c.SetStrategy(text)
	if mixes, failure := h.mixes(c); !mixes {
		return failure
	}
	c.Mix(h.first, h.weightOf(h.first))
	for i, s := range h.strategies {
		if h.leads(i) && s.profile != h.first {
			c.Mix(s.profile, h.weightOf(s.profile))
		}
	}
	return nil
}

// mixes reports whether strategies of several profiles count, or what keeps these from being mixed. of knows which of
// them score endpoints.
func (h *routingStrategyHandler) mixes(of interface{ Scores(profile int) bool }) (bool, *scoring.Failure) {
	profiles, blind := 0, -1
	for i, s := range h.strategies {
		if !h.leads(i) {
			continue
		}
		if profiles++; blind < 0 && !of.Scores(s.profile) {
			blind = i
		}
	}
	if profiles > 1 && blind >= 0 {
		return false, invalidStrategy(strconv.Quote(h.strategies[blind].name) +
			" does not score endpoints and cannot be mixed with other strategies")
	}
	return profiles > 1, nil
}

// leads reports whether a strategy counts, and is the first of its profile that does.
func (h *routingStrategyHandler) leads(strategy int) bool {
	for i := range h.strategies[:strategy] {
		if h.weights[i] > 0 && h.strategies[i].profile == h.strategies[strategy].profile {
			return false
		}
	}
	return h.weights[strategy] > 0
}

// nameOf is the first strategy of a profile, empty if there is none.
func (h *routingStrategyHandler) nameOf(profile int) string {
	for i := range h.strategies {
		if h.strategies[i].profile == profile {
			return h.strategies[i].name
		}
	}
	return ""
}

// weightOf sums the weights of all strategies of a profile.
func (h *routingStrategyHandler) weightOf(profile int) float64 {
	sum := 0
	for i, s := range h.strategies {
		if s.profile == profile {
			sum += h.weights[i]
		}
	}
	return float64(sum)
}

// read is parse, and no text at all is the first profile, which no strategy needs to name.
func (h *routingStrategyHandler) read(text string) *scoring.Failure {
	if text != "" {
		return h.parse(text)
	}
	clear(h.weights)
	h.first = 0
	return nil
}

// parse reads a strategy or a mix into weights and first.
func (h *routingStrategyHandler) parse(text string) *scoring.Failure {
	clear(h.weights)
	named := false
	for more := true; more; {
		var item string
		item, text, more = strings.Cut(text, ",")
		name, digits, weighted := strings.Cut(item, ":")
		name = strings.TrimSpace(name)
		weight := 1
		if weighted {
			var ok bool
			if weight, ok = readWeight(strings.TrimSpace(digits)); !ok {
				return invalidStrategy("the weight in " + strconv.Quote(short(item)) +
					" is not a whole number from 0 to 1000000")
			}
		}
		i := h.find(name)
		if i < 0 && weight == 0 && name != "" {
			continue
		}
		if i < 0 {
			return h.unknown(name)
		}
		h.weights[i] = min(h.weights[i]+weight, mostStrategyWeight)
		if weight > 0 && !named {
			h.first, named = h.strategies[i].profile, true
		}
	}
	if !named {
		return invalidStrategy("every routing strategy has weight 0")
	}
	return nil
}

func readWeight(digits string) (weight int, ok bool) {
	if len(digits) == 0 || len(digits) > 7 {
		return 0, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
		weight = weight*10 + int(digits[i]-'0')
	}
	return weight, weight <= mostStrategyWeight
}

func (h *routingStrategyHandler) find(name string) int {
	for i := range h.strategies {
		if h.strategies[i].name == name {
			return i
		}
	}
	return -1
}

func (h *routingStrategyHandler) unknown(name string) *scoring.Failure {
	known := ""
	for i, s := range h.strategies {
		if i > 0 {
			known += ", "
		}
		known += s.name
	}
	message := "no routing strategy is named " + strconv.Quote(short(name)) + "; known are " + known
	return &scoring.Failure{Status: 400, Reason: "unknown_strategy", Message: message}
}

func invalidStrategy(message string) *scoring.Failure {
	return &scoring.Failure{Status: 400, Reason: "invalid_strategy", Message: message}
}

// short bounds what of a client's text is repeated to it.
func short(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// Next implements scoring.ProfileHandler.
func (h *routingStrategyHandler) Next(c *scoring.Cycle) (profile int, ok bool) {
	return h.first, c.Result(h.first).State == scoring.NotRun
}

// Primary implements scoring.ProfileHandler.
func (h *routingStrategyHandler) Primary(c *scoring.Cycle) int {
	for _, s := range h.strategies {
		if c.Result(s.profile).State != scoring.NotRun {
			return s.profile
		}
	}
	return h.first
}
