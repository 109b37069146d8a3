// Package pluginconfig reads the configuration of the filter: an EndpointPickerConfig and Pintle's own keys beside it.
// It knows no host, so that the filter, `pintle validate` and `pintle explain` read alike.
package pluginconfig

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/registry"
	"github.com/pintle-dev/pintle/state"
)

// Hold is how the filter keeps a request back until its body has been read.
type Hold uint8

const (
	// HoldBuffer lets the headers go on to Envoy's buffer filter and publishes the decision as filter state. It works
	// wherever a stock buffer filter stands behind the plug-in.
	HoldBuffer Hold = iota
	// HoldPause stops the headers in the plug-in and publishes the decision as headers. It needs
	// allow_on_headers_stop_iteration in Envoy's plug-in configuration; without that every request with a body hangs.
	HoldPause
)

// Destination is how Envoy is told the endpoint.
type Destination uint8

const (
	// OriginalDst names one address for an ORIGINAL_DST cluster.
	OriginalDst Destination = iota
	// OverrideHost names a ranked list of addresses for the override_host load balancing policy, which fails over along
	// it.
	OverrideHost
)

// Subset is who may say which endpoints a request may go to, as in the endpoint picker protocol.
type Subset uint8

const (
	// SubsetIgnore is nobody.
	SubsetIgnore Subset = iota
	// SubsetMetadata heeds the dynamic metadata of other filters.
	SubsetMetadata
	// SubsetHeader heeds the request header before that.
	SubsetHeader
)

// Config is a valid configuration. It is immutable.
type Config struct {
	Plan *scoring.Plan
	// Shadow decides beside Plan and nothing goes by it; nil is none. ShadowError says what is wrong with it: the
	// configuration is of use without.
	Shadow      *scoring.Plan
	ShadowError error
	// BodyKeys are those of Plan and behind them those of Shadow, for openai.Request.Want.
	BodyKeys    []string
	Ingest      Ingest
	Hold        Hold
	Destination Destination
	Subset      Subset
	// PassManagement lets clients reach the paths by which model servers are managed.
	PassManagement bool
	// PassUnreadable passes inference requests whose bodies are encoded, instead of refusing them.
	PassUnreadable bool
	// Strip are further request headers, in lower case, that are removed when a client sends them.
	Strip []string
	// Wait is how long a request may wait for the process's first snapshot; 0 is not at all.
	Wait time.Duration
	// EmptyWait is how long a request may wait for a server while the pool has none; 0 is not at all.
	EmptyWait time.Duration
	// HeldBytes is how much of requests' bodies each worker holds at most, in sum.
	HeldBytes int
	// Debug answers x-pintle-explain in a response header.
	Debug bool
	// Sidecar is how the sidecar is asked.
	Sidecar Sidecar
}

// Sidecar is how the sidecar is asked on a request's way: it carries the ingest token.
type Sidecar struct {
	// Cluster is the name of Envoy's cluster that leads to it.
	Cluster string
	// Timeout is how long a request waits for an answer without which it cannot go on, PrefixTimeout for one without
	// which it can.
	Timeout, PrefixTimeout time.Duration
}

// documentKeys are the top-level keys by which a bare EndpointPickerConfig is told from a configuration that wraps one.
var documentKeys = []string{"apiVersion", "kind", "plugins", "schedulingProfiles", "featureGates", "saturationDetector",
	"data", "flowControl",
	"dataLayer", "requestHandler", "parser", "spec", "items"}

// Bare reports whether what has the top-level keys that are given is an EndpointPickerConfig, and no configuration that
// wraps one.
func Bare(given func(key string) bool) bool { return slices.ContainsFunc(documentKeys, given) }

// OwnKeys are the keys of a configuration that wraps one.
var OwnKeys = []string{"config", "shadow", "dialect", "ingest", "hold", "destination", "stale", "failing", "held",
	"startup", "empty", "load", "sidecar", "subset", "management", "unreadable", "strip", "debug"}

// noteOwn notes each of OwnKeys in a bare EndpointPickerConfig.
func noteOwn(root *strictjson.Object) {
	for _, key := range OwnKeys {
		switch {
		case !root.Drop(key):
		case key == "config":
			root.Mistake(key, "stands beside keys of an EndpointPickerConfig; put these below it")
		default:
			root.Mistake(key, "stands among the keys of an EndpointPickerConfig; put these below config, and this "+
				"beside it")
		}
	}
}

// Parse reads a configuration in an empty environment.
func Parse(text []byte) (*Config, error) { return ParseIn(text, nil) }

// ParseIn reads a configuration. An empty text is the default configuration. environment looks variables up that stand
// for parameters that are not given; nil stands for none. The error is a strictjson.Mistakes with one line for each
// mistake.
func ParseIn(text []byte, environment func(name string) (value string, ok bool)) (*Config, error) {
	return ParseAs(text, environment, scoring.DialectUnsaid)
}

// ParseAs is ParseIn for a document whose dialect is said elsewhere; the configuration's own key beats it.
func ParseAs(text []byte, environment func(name string) (value string, ok bool),
	dialect scoring.Dialect) (*Config, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	root, document := strictjson.Parse(text, "configuration")
	c := &Config{Wait: waitDefault, HeldBytes: heldDefault,
		Sidecar: Sidecar{Cluster: "pintle-sidecar", Timeout: 400 * time.Millisecond,
			PrefixTimeout: 50 * time.Millisecond}}
	settings := scoring.Settings{
		Stale: staleDefault, CorrectLoad: true, Failing: failingDefault, Environment: environment, Dialect: dialect,
	}
	if Bare(root.Given) {
		noteOwn(root)
		c.compile(root, settings)
		return c, document.Err()
	}
	settings.Stale, settings.Failing = readStale(root.Object("stale")), readFailing(root.Object("failing"))
	said := dialect.String()
	root.OneOf("dialect", &said, scoring.NameHeimdall, scoring.NameLLMD)
	settings.Dialect = scoring.DialectNamed(said)
	load := root.Object("load")
	load.Bool("correction", &settings.CorrectLoad)
	load.Close()
	c.readIngest(root.Object("ingest"))
	startup := root.Object("startup")
	startup.Duration("wait", &c.Wait, 0)
	startup.Close()
	empty := root.Object("empty")
	empty.Duration("wait", &c.EmptyWait, 0)
	empty.Close()
	held := root.Object("held")
	held.Int("maxBytes", &c.HeldBytes, 1<<20, 1<<30)
	held.Close()
	sidecar := root.Object("sidecar")
	sidecar.String("cluster", &c.Sidecar.Cluster)
	sidecar.Duration("timeout", &c.Sidecar.Timeout, time.Millisecond)
	sidecar.Duration("prefixTimeout", &c.Sidecar.PrefixTimeout, time.Millisecond)
	sidecar.Close()
	if c.Sidecar.Cluster == "" {
		sidecar.Missing("cluster", "name Envoy's cluster of the sidecar")
	}
	c.readModes(root)
	root.Bool("debug", &c.Debug)
	c.readDoor(root)
	config, shadow := root.Object("config"), root.Object("shadow")
	for _, key := range OwnKeys {
		if config.Drop(key) {
			config.Mistake(key, "stands within config; put it beside that")
		}
	}
	root.Close()
	c.compile(config, settings)
	if c.PassUnreadable && c.Plan.Salts() {
		root.Mistake("unreadable", strconv.Quote("pass")+" lets requests go on without the salts of "+
			"tenant-cache-salt, as their bodies cannot be changed; refuse is right")
	}
	c.readShadow(shadow, root.Raw("shadow"), settings)
	return c, document.Err()
}

// compile makes the plan that acts of an EndpointPickerConfig.
func (c *Config) compile(document *strictjson.Object, settings scoring.Settings) {
	c.Plan = scoring.Compile(document, registry.Plugins, settings)
	c.BodyKeys = c.Plan.BodyKeys()
}

// waitDefault is longer than a sidecar takes to find an Envoy that has just started.
const waitDefault = 3 * time.Second

// heldDefault has room for four bodies of the greatest length that the shipped files allow.
const heldDefault = 128 << 20

var staleDefault = scoring.Staleness{After: 2 * time.Second, Policy: scoring.StaleByDialect}

func readStale(o *strictjson.Object) scoring.Staleness {
	stale, policy := staleDefault, ""
	o.Duration("after", &stale.After, time.Millisecond)
	o.OneOf("policy", &policy, "neutral", "exclude", "last", "zero")
	o.Close()
	switch policy {
	case "neutral":
		stale.Policy = scoring.StaleNeutral
	case "zero":
		stale.Policy = scoring.StaleZero
	case "exclude":
		stale.Policy = scoring.StaleExclude
	case "last":
		stale.Policy = scoring.StaleLast
	}
	return stale
}

var failingDefault = scoring.Failing{Exclude: true, Above: 0.5, HalfLife: state.DefaultFailureHalfLife}

func readFailing(o *strictjson.Object) scoring.Failing {
	failing, policy := failingDefault, "exclude"
	o.OneOf("policy", &policy, "exclude", "ignore")
	o.Float("above", &failing.Above, 0, 1)
	o.Duration("halfLife", &failing.HalfLife, time.Millisecond)
	o.Close()
	failing.Exclude = policy == "exclude"
	return failing
}

// Warnings says what has no effect, or not the one that may be expected, in what acts.
func (c *Config) Warnings() []string {
	warnings := c.Plan.Warnings()
	if c.Destination == OverrideHost && c.Plan.MostPicked() == 1 {
		warnings = append(slices.Clip(warnings), "destination: override-host has nowhere to fail over to, "+
			"as no picker names more than one endpoint; give pickers maxNumOfEndpoints: 3")
	}
	return warnings
}

func (c *Config) readModes(root *strictjson.Object) {
	hold, destination := "buffer", "original-dst"
	root.OneOf("hold", &hold, "buffer", "pause")
	root.OneOf("destination", &destination, "original-dst", "override-host")
	if hold == "pause" {
		c.Hold = HoldPause
	}
	if destination == "override-host" {
		c.Destination = OverrideHost
	}
}

// readDoor reads what is let in.
func (c *Config) readDoor(root *strictjson.Object) {
	management, unreadable, subset := "refuse", "refuse", "ignore"
	root.OneOf("subset", &subset, "ignore", "metadata", "header")
	switch subset {
	case "header":
		c.Subset = SubsetHeader
	case "metadata":
		c.Subset = SubsetMetadata
	}
	root.OneOf("management", &management, "refuse", "pass")
	root.OneOf("unreadable", &unreadable, "refuse", "pass")
	c.PassManagement, c.PassUnreadable = management == "pass", unreadable == "pass"
	root.HeaderNames("strip", &c.Strip)
	for _, name := range c.Strip {
		if slices.Contains(needed, name) {
			root.Mistake("strip", strconv.Quote(name)+" is a header that a request cannot do without")
		}
	}
}

// needed are headers without which a request is another or none.
var needed = []string{"host", "content-length", "content-type", "content-encoding", "transfer-encoding"}
