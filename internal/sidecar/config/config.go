// Package config reads the sidecar's configuration and the endpoints documents that it names. Every mistake is told at
// once, each with its line, the key, the value (unless that may be a secret) and what would be right.
package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/dns"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/internal/yamldoc"
	"github.com/pintle-dev/pintle/scoring"
)

// Config is the sidecar's configuration, complete and checked.
type Config struct {
	// Path is the file that it was read from. Static is read from there again when the file changes.
	Path string
	// Ingests are the Envoys to feed.
	Ingests []Ingest
	// Token is the bearer token of every ingest listener; TokenFile, when set, is the file that holds it instead.
	Token, TokenFile string
	// Drain is the longest that the sidecar goes on for its Envoys when it is told to end; 0 ends it at once.
	Drain time.Duration
	// PushInterval is the shortest time between two pushes to one Envoy; changes within it go out together.
	PushInterval time.Duration
	// Scrape says how often, for how long and how endpoints are asked.
	Scrape Scrape
	// Engines are the kinds of model servers that can be read.
	Engines engine.Set
	// AdminAddress is where the sidecar answers questions about itself, PublicAddress where it tells probes and
	// Prometheus alone; empty is nowhere.
	AdminAddress, PublicAddress string
	// Follow says how the journals of the Envoys are followed, Metrics what is made of it.
	Follow  Follow
	Metrics Metrics
	// Profiles has it offer Go's profiles at AdminAddress, under /debug/pprof/.
	Profiles bool
	// Static are the endpoints of the configuration itself, with its objectives and rewrites.
	Static topology.Part
	// EndpointsFile names a file with more endpoints. Empty is none.
	EndpointsFile string
	// Plugins is the filter's configuration that ApplyPlugins took over, layer and store what it said; PluginEndpoints
	// has EndpointsFile be one of its file-discovery.
	Plugins         string
	layer           *scoring.DataLayer
	store           *scoring.ResponsesStore
	PluginEndpoints bool
	// ownAccess is Scrape's before what the filter's configuration says, ownIdle the IdleInterval that was given, 0 for
	// none.
	ownAccess topology.Access
	ownIdle   time.Duration
	// EndpointsOnce has EndpointsFile read once alone.
	EndpointsOnce bool
	// EngineLabel is the label that names an endpoint's engine in EndpointsFile.
	EngineLabel string
	// Kubernetes says what to watch there; nil is nothing. DNS are names to look up.
	Kubernetes *kubernetes.Config
	DNS        []dns.Pool
	// Responses says where conversations are kept and asked for; nil is not at all.
	Responses *Responses
	// Replicate says how gateways share what they know; nil is not at all.
	Replicate *Replicate
	// Prefix says how it is known which servers have the beginning of a prompt.
	Prefix Prefix
	// idle says of keys that have no effect why that is.
	idle []string
	// secrets are what the files held that Replicate names, by their paths.
	secrets map[string]string
}

// Follow says how the journals of the Envoys are followed.
type Follow struct {
	Enabled bool
	// Interval is the time between two questions.
	Interval time.Duration
	// Sample is the share of the decisions of which the steps are wanted.
	Sample float64
	// Prefixes has it known which endpoints have the beginnings of which prompts.
	Prefixes bool
}

// Metrics say how metrics are told.
type Metrics struct {
	// LLMD has the metrics of requests and pools under the names that llm-d's endpoint picker has for them.
	LLMD bool
	// QueueDepth and KVUsage are where a server counts as saturated.
	QueueDepth int
	KVUsage    float64
}

// Scrape says how often, for how long and how endpoints are asked.
type Scrape struct {
	// Interval is the time between two scrapes of an endpoint under load, IdleInterval that of one without.
	Interval, IdleInterval time.Duration
	// Timeout is the longest that one may take.
	Timeout time.Duration
	// Models is the time between two looks at the models that an endpoint serves; 0 leaves it to the Envoys: half a
	// minute once one asks for them, else never.
	Models time.Duration
	// Share has one of the sidecars that share a stream scrape for all.
	Share bool
	// Access holds for endpoints that say nothing else.
	Access topology.Access
	// ModelsPath is where the lists of models are, ModelsAccess how they are asked for, but for secrets and names,
	// which are the endpoints' own; empty and nil are /v1/models, as the metrics are.
	ModelsPath   string
	ModelsAccess *topology.Access
	// GPU is where the endpoints' GPUs are read; nil is nowhere.
	GPU *GPU
}

// GPU is the DCGM exporter beside each endpoint, and the attribute that its metrics make.
type GPU struct {
	Attribute string
	Path      string
	Port      uint16
	Access    topology.Access
	Interval  time.Duration
	// Node is set when the exporter is that of the endpoint's machine.
	Node bool
}

const (
	shortestPeriod = 5 * time.Millisecond
	// longestIdle is the longest default of scrape.idleInterval. With a heartbeat more it stays below staleAfter.
	longestIdle = 100 * time.Millisecond
)

// Load reads and checks a configuration file, and reads the files that it names.
func Load(path string) (*Config, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	c, err := Parse(path, content)
	if err != nil {
		return nil, inFile(path, err)
	}
	if err := c.checkFiles(content); err != nil {
		return nil, err
	}
	return c, nil
}

// CheckKubeconfig reads the kubeconfig that discovery.kubernetes names. It is asked once it is known that it counts.
func (c *Config) CheckKubeconfig() error {
	if c.Kubernetes == nil || c.Kubernetes.Kubeconfig == "" {
		return nil
	}
	var mistakes unread
	mistakes.note("discovery.kubernetes.kubeconfig: ", kubernetes.CheckKubeconfig(c.Kubernetes.Kubeconfig))
	content, err := os.ReadFile(c.Path)
	return cmp.Or(err, mistakes.in(c.Path, content))
}

// inFile puts the file's name before each line of err.
func inFile(path string, err error) error {
	var mistakes strictjson.Mistakes
	for line := range strings.SplitSeq(err.Error(), "\n") {
		mistakes = append(mistakes, path+": "+line)
	}
	return mistakes
}

// joined says what of the sources would be left out.
func joined(sources []topology.Source) error {
	if _, problems := topology.Join(sources); len(problems) > 0 {
		return strictjson.Mistakes(problems)
	}
	return nil
}

// Parse checks a configuration, and reads no other file but those of Replicate's secrets. Relative paths in it start
// from its own folder.
func Parse(path string, content []byte) (*Config, error) { return parse(path, content, nil) }

// parse is Parse with the secrets that are known.
func parse(path string, content []byte, secrets map[string]string) (*Config, error) {
	document, err := yamldoc.Read(content)
	if err != nil {
		return nil, err
	}
	c := &Config{
		Path:         path,
		PushInterval: 10 * time.Millisecond,
		Scrape:       Scrape{Interval: 50 * time.Millisecond, Timeout: time.Second},
		Engines:      engine.Known,
		AdminAddress: "127.0.0.1:10001",
		Follow:       Follow{Enabled: true, Interval: 250 * time.Millisecond, Sample: 0.01},
		Metrics:      Metrics{QueueDepth: 5, KVUsage: 0.8},
		secrets:      secrets,
	}
	root, mistakes := document.Parse()
	if !root.Present() {
		return nil, document.Locate(mistakes.Err())
	}
	c.readEngines(root) // what follows needs them
	c.readEnvoy(root.Secret("envoy"))
	c.readScrape(root.Object("scrape"))
	c.ownAccess = c.Scrape.Access
	c.readPush(root.Object("push"))
	c.readAdmin(root.Object("admin"))
	c.readFollow(root.Object("follow"))
	c.readMetrics(root.Object("metrics"))
	c.readResponses(root.Object("responses"))
	c.readReplicate(root.Secret("replicate"))
	if c.Scrape.Share && c.Replicate == nil {
		root.Mistake("scrape.share", "needs replicate, which says by which server; leaving it out is right without")
	}
	c.readPrefix(root.Object("prefix"))
	c.checkListening(root)
	if discovery := root.Object("discovery"); discovery.Present() {
		c.readDiscovery(discovery)
	} else {
		root.Missing("discovery", "one of static, file, kubernetes and dns is right")
	}
	c.Static.Objectives, c.Static.Rewrites = topology.Objectives(root), topology.Rewrites(root)
	root.Close()
	if err := mistakes.Err(); err != nil {
		return nil, document.Locate(err)
	}
	if err := joined([]topology.Source{{Name: "discovery.static", Part: c.Static}}); err != nil {
		return nil, err
	}
	return c, nil
}

// ParseEndpoints reads an endpoints document: a list under the key endpoints, and the rules that go with it.
func (c *Config) ParseEndpoints(content []byte) (topology.Part, error) {
	document, err := yamldoc.Read(content)
	if err != nil {
		return topology.Part{}, err
	}
	root, mistakes := document.Parse()
	if !root.Present() {
		return topology.Part{}, document.Locate(mistakes.Err())
	}
	var part topology.Part
	if c.PluginEndpoints {
		part = c.listed(root)
	} else {
		part = c.reader(c.EndpointsFile).Part(root)
		c.overListed(part.Endpoints)
	}
	if !root.Given("endpoints") {
		root.Missing("endpoints", "a list is right, [] when empty")
	}
	root.Close()
	if err := mistakes.Err(); err != nil {
		return topology.Part{}, document.Locate(err)
	}
	return part, nil
}

// reader reads lists of endpoints in a file.
func (c *Config) reader(path string) *topology.Reader {
	return &topology.Reader{
		Engine: func(name string) string {
			if kind := c.Engines.ByName(name); kind != nil {
				return kind.Name()
			}
			return ""
		},
		Engines: c.Engines.Names(), Folder: filepath.Dir(path), Access: c.ownAccess,
	}
}
