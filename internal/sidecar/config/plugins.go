package config

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/foreign"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/snapshot"
)

// ApplyPlugins has the sidecar do what the data layer of the filter's configuration in a file says: it beats what c
// says of the same.
func (c *Config) ApplyPlugins(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("flag -plugins: %w", err)
	}
	found, err := foreign.Read(text)
	if err != nil {
		return inFile(path, err)
	}
	parsed, err := pluginconfig.ParseIn(found.JSON, os.LookupEnv)
	if err != nil {
		return inFile(path, found.Locate(err))
	}
	layer := *parsed.Plan.DataLayer() // the plan has much else
	c.Plugins, c.layer, c.store = path, &layer, parsed.Plan.ResponsesStore()
	c.Prefix.Index = parsed.Plan.PreciseIndex()
	c.placeTokenizer()
	if err := c.take(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var mistakes strictjson.Mistakes
	c.twoAtOne(c.Prefix.Index != nil, func(key, problem string) { mistakes = append(mistakes, key+": "+problem) })
	if mistakes != nil {
		return inFile(c.Path, mistakes)
	}
	return c.checkPluginFiles()
}

// take takes over what the filter's configuration says.
func (c *Config) take() error {
	if err := c.apply(c.layer); err != nil {
		return err
	}
	c.applyResponses(c.store)
	return nil
}

// apply takes over what a data layer says.
func (c *Config) apply(d *scoring.DataLayer) error {
	if e := d.Engines; e != nil {
		for i := range e.Configs {
			if err := c.applyEngine(&e.Configs[i]); err != nil {
				return err
			}
		}
		c.EngineLabel = e.LabelKey
		c.Engines = c.Engines.Prefer(c.knownEngine(e.Default))
		if c.Kubernetes != nil {
			c.Kubernetes.EngineLabel = e.LabelKey
		}
	}
	if d.Metrics != nil {
		if err := c.applyMetrics(d.Metrics); err != nil {
			return err
		}
	}
	if m := d.Models; m != nil {
		access := c.access(m, c.ownAccess)
		c.Scrape.ModelsPath, c.Scrape.ModelsAccess = m.Path, &access
		if m.Interval > 0 {
			c.Scrape.Models = m.Interval
		}
	}
	if g := d.GPU; g != nil && d.GPUAttribute != "" {
		c.Scrape.GPU = &GPU{Attribute: d.GPUAttribute, Path: g.Path, Port: uint16(g.Port), Node: g.NodeAddress,
			Access:   topology.Access{HTTPS: g.HTTPS, SkipVerify: g.HTTPS && g.SkipVerify},
			Interval: cmp.Or(g.Interval, gpuInterval)}
	}
	if f := d.Endpoints; f != nil {
		c.idleSources()
		c.EndpointsFile, c.PluginEndpoints, c.EndpointsOnce = c.placed(f.Path), true, !f.Watch
		c.Static.Endpoints, c.Kubernetes, c.DNS = nil, nil, nil
	}
	return nil
}

// idleSources notes the sources of endpoints that make way for a file-discovery's list.
func (c *Config) idleSources() {
	for _, source := range []struct {
		key   string
		given bool
	}{
		{"static", len(c.Static.Endpoints) > 0}, {"file", c.EndpointsFile != ""}, {"kubernetes", c.Kubernetes != nil},
		{"dns", len(c.DNS) > 0},
	} {
		if source.given {
			c.idle = append(c.idle, "discovery."+source.key+
				" has no effect: the document's file-discovery finds servers in its own list alone")
		}
	}
}

// placed has a relative path of the filter's document start from its folder.
func (c *Config) placed(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(c.Plugins), path)
}

// placeTokenizer places what of the tokenizers is on the sidecar's machine; a service's folders are where that runs.
func (c *Config) placeTokenizer() {
	if c.Prefix.Index == nil {
		return
	}
	t := &c.Prefix.Index.Tokens
	switch {
	case t.Kind == scoring.TokensLocal || t.Kind == scoring.TokensDownloaded:
		t.Dir = c.placed(t.Dir)
		for i := range t.Files {
			t.Files[i].Path = c.placed(t.Files[i].Path)
		}
	case t.Kind == scoring.TokensOfService && !t.TCP:
		t.Socket = c.placed(t.Socket)
	}
}

// gpuInterval is the time between two looks at an endpoint's GPUs. Exporters sample them every second at best.
const gpuInterval = time.Second

func (c *Config) knownEngine(name string) string {
	if kind := c.Engines.ByName(name); kind != nil {
		return kind.Name()
	}
	return ""
}

// defaultPage is where a data source looks by itself. There each engine's own place counts.
const defaultPage = "/metrics"

func (c *Config) applyMetrics(p *scoring.Page) error {
	c.Scrape.Access = c.access(p, c.Scrape.Access)
	if p.Interval > 0 {
		c.Scrape.Interval = p.Interval
		c.Scrape.IdleInterval = max(p.Interval, cmp.Or(c.ownIdle, min(2*p.Interval, longestIdle)))
	}
	c.overListed(c.Static.Endpoints)
	for i := range c.DNS {
		c.DNS[i].Access = c.over(p, c.DNS[i].Access)
	}
	if c.Kubernetes != nil {
		for i := range c.Kubernetes.Pools {
			c.Kubernetes.Pools[i].Access = c.over(p, c.Kubernetes.Pools[i].Access)
		}
	}
	change := engine.Change{Port: uint16(p.Port)}
	if p.Path != defaultPage {
		change.Path = p.Path
	}
	if change.Path == "" && change.Port == 0 {
		return nil
	}
	for _, name := range c.Engines.Names() {
		changed, err := c.Engines.With(name, change)
		if err != nil {
			return err
		}
		c.Engines = changed
	}
	return nil
}

// access is how a page is asked for; what the page says nothing of, such as a token or who may vouch for the servers,
// is as the sidecar's configuration has it for those endpoints.
func (c *Config) access(p *scoring.Page, a topology.Access) topology.Access {
	a.HTTPS = p.HTTPS
	if !p.HTTPS {
		return a
	}
	if p.CACert != "" {
		a.CA, a.SkipVerify = c.placed(p.CACert), false
	} else if a.CA == "" || !p.SkipVerify {
		a.SkipVerify = p.SkipVerify
	}
	if p.ClientCert != "" {
		a.Certificate, a.Key = c.placed(p.ClientCert), c.placed(p.ClientKey)
	}
	return a
}

// over is access for endpoints that are asked as own says without the page; nil is plain HTTP without credentials.
func (c *Config) over(p *scoring.Page, own *topology.Access) *topology.Access {
	if own == nil {
		own = &topology.Access{}
	}
	a := c.access(p, *own)
	return &a
}

// overListed has the endpoints of the sidecar's own list asked as the filter's configuration says.
func (c *Config) overListed(endpoints []topology.Endpoint) {
	if c.layer == nil || c.layer.Metrics == nil {
		return
	}
	for i := range endpoints {
		endpoints[i].Access = c.over(c.layer.Metrics, endpoints[i].Access)
	}
}

func (c *Config) applyEngine(e *scoring.EngineConfig) error {
	name := e.Name
	if known := c.knownEngine(name); known != "" {
		name = known
	}
	change := engine.Change{
		Waiting: e.Waiting, Running: e.Running, KVCacheUsage: e.KVUsage, LoRAInfo: e.LoRA, CacheInfo: e.CacheInfo,
		BlockSizeLabel: e.CacheBlockSizeLabel, BlocksLabel: e.CacheBlocksLabel, BlockSize: e.CacheBlockSize,
		Blocks: e.CacheBlocks,
	}
	for _, a := range e.Attributes {
		change.Attributes = append(change.Attributes, engine.Gauge{Attribute: a.Attribute, Selector: a.Spec})
	}
	changed, err := c.Engines.With(name, change)
	if err != nil {
		return fmt.Errorf("engineConfigs: %w", err)
	}
	c.Engines = changed
	return nil
}

// listed reads the list of a file-discovery.
func (c *Config) listed(root *strictjson.Object) topology.Part {
	var part topology.Part
	names := map[string]bool{}
	for _, o := range topology.List(root, "endpoints") {
		e, name, namespace, address, port := topology.Endpoint{}, "", "default", "", ""
		var labels []strictjson.Pair
		o.String("name", &name)
		o.String("namespace", &namespace)
		o.String("address", &address)
		o.Scalar("port", &port)
		o.StringMap("labels", &labels)
		o.Close()
		e.Name = namespace + "/" + name
		switch number, err := strconv.ParseUint(port, 10, 16); {
		case name == "":
			o.Missing("name", "a unique name is right")
		case names[e.Name]:
			o.Mistake("name", strictjson.Quote(e.Name)+" is the name of another endpoint; each name once is right")
		case err != nil || number == 0:
			o.Mistake("port", strictjson.Quote(port)+" is no port; 1 to 65535 is right")
		default:
			e.Address = net.JoinHostPort(address, port)
			topology.CheckAddress(o, "address", &e.Address)
		}
		names[e.Name] = true
		for _, l := range labels {
			e.Labels = append(e.Labels, snapshot.Label(l))
			if l.Key == c.EngineLabel {
				e.Engine = c.knownEngine(l.Value)
			}
		}
		if c.Scrape.Access != (topology.Access{}) {
			e.Access = &c.Scrape.Access
		}
		part.Endpoints = append(part.Endpoints, e)
	}
	return part
}
