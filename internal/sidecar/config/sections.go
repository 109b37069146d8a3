package config

import (
	"math"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/dns"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/internal/strictjson"
)

func (c *Config) readScrape(o *strictjson.Object) {
	o.Duration("interval", &c.Scrape.Interval, shortestPeriod)
	c.Scrape.IdleInterval = max(c.Scrape.Interval, min(2*c.Scrape.Interval, longestIdle))
	o.Duration("idleInterval", &c.Scrape.IdleInterval, shortestPeriod)
	if o.Has("idleInterval") {
		c.ownIdle = c.Scrape.IdleInterval
	}
	o.Duration("timeout", &c.Scrape.Timeout, shortestPeriod)
	o.Duration("models", &c.Scrape.Models, time.Second)
	o.Bool("share", &c.Scrape.Share)
	c.Scrape.Access = *topology.ReadAccess(o, &topology.Access{}, filepath.Dir(c.Path))
	o.Close()
	if c.Scrape.IdleInterval < c.Scrape.Interval {
		o.Mistake("idleInterval", c.Scrape.IdleInterval.String()+" is shorter than interval "+
			c.Scrape.Interval.String()+
			"; the same or longer is right")
	}
}

func (c *Config) readAdmin(o *strictjson.Object) {
	o.Bool("pprof", &c.Profiles)
	readAddress(o, "address", &c.AdminAddress)
	readAddress(o, "public", &c.PublicAddress)
	o.Close()
}

// readAddress reads where to listen.
func readAddress(o *strictjson.Object, key string, address *string) {
	o.String(key, address)
	if _, port, err := net.SplitHostPort(*address); o.Has(key) && (err != nil || !isPort(port)) {
		o.Mistake(key, strictjson.Quote(*address)+" is no address; host:port such as 127.0.0.1:10001 is right")
	}
}

func (c *Config) readFollow(o *strictjson.Object) {
	o.Bool("enabled", &c.Follow.Enabled)
	o.Duration("interval", &c.Follow.Interval, shortestPeriod)
	o.Float("sample", &c.Follow.Sample, 0, 1)
	o.Bool("prefixes", &c.Follow.Prefixes)
	o.Close()
	for _, key := range []string{"interval", "sample"} {
		if o.Has(key) && !c.Follow.Enabled {
			c.idle = append(c.idle, "follow."+key+" has no effect: enabled is false")
		}
	}
	if c.Follow.Prefixes && !c.Follow.Enabled {
		o.Mistake("prefixes", "true is of no use with enabled: false; one of them is right")
	}
}

func (c *Config) readMetrics(o *strictjson.Object) {
	names := "pintle"
	o.OneOf("names", &names, "pintle", "llm-d")
	c.Metrics.LLMD = names == "llm-d"
	o.Int("queueDepthThreshold", &c.Metrics.QueueDepth, 1, math.MaxInt32)
	o.Float("kvCacheUtilThreshold", &c.Metrics.KVUsage, 0.01, 1)
	o.Close()
}

// readEngines reads the configuration's engines, which endpoints anywhere in it may name.
func (c *Config) readEngines(root *strictjson.Object) {
	root.Each("engines", func(name string, o *strictjson.Object) {
		var change engine.Change
		port := 0
		o.String("path", &change.Path)
		if o.Has("path") && (!strings.HasPrefix(change.Path, "/") || strings.ContainsAny(change.Path, " #")) {
			o.Mistake("path", strictjson.Quote(change.Path)+" is no path; one such as /metrics is right")
		}
		if o.Has("port") {
			port = 1
		}
		o.Int("port", &port, 1, 65535)
		change.Port = uint16(port)
		o.String("waiting", &change.Waiting)
		o.String("running", &change.Running)
		o.String("kvCacheUsage", &change.KVCacheUsage)
		o.String("cacheInfo", &change.CacheInfo)
		o.String("loraInfo", &change.LoRAInfo)
		o.Close()
		changed, err := c.Engines.With(name, change)
		if err != nil {
			o.Mistake("", err.Error())
			return
		}
		c.Engines = changed
	})
}

func (c *Config) readDiscovery(o *strictjson.Object) {
	r := c.reader(c.Path)
	c.Static.Endpoints = r.Endpoints(o, "static")
	o.String("file", &c.EndpointsFile)
	if o.Has("file") {
		c.EndpointsFile = c.path(o, "file", c.EndpointsFile)
	}
	if k := o.Object("kubernetes"); k.Present() {
		c.readKubernetes(k, r)
	}
	c.readDNS(o, r)
	if !slices.ContainsFunc([]string{"static", "file", "kubernetes", "dns"}, o.Has) {
		o.Mistake("", "nothing is there; one of static, file, kubernetes and dns is right")
	}
	o.Close()
}

// path is where a file lies whose path stands under key.
func (c *Config) path(o *strictjson.Object, key, path string) string {
	if path == "" {
		o.Missing(key, "the path of a file is right")
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(c.Path), path)
}

func (c *Config) readKubernetes(o *strictjson.Object, r *topology.Reader) {
	k := &kubernetes.Config{}
	c.Kubernetes = k
	o.String("kubeconfig", &k.Kubeconfig)
	if o.Has("kubeconfig") {
		k.Kubeconfig = c.path(o, "kubeconfig", k.Kubeconfig)
	}
	o.String("namespace", &k.Namespace)
	for _, item := range o.Objects("pools") {
		p := kubernetes.Pool{}
		item.String("namespace", &p.Namespace)
		item.String("inferencePool", &p.InferencePool)
		item.String("service", &p.Service)
		item.String("selector", &p.Selector)
		item.Scalars("ports", &p.Ports)
		r.Traits(item, &p.Engine, &p.Labels, &p.Models)
		p.Access = r.ReadAccess(item)
		item.Close()
		if err := p.Check(); err != nil {
			item.Mistake("", err.Error())
		}
		k.Pools = append(k.Pools, p)
	}
	if len(k.Pools) == 0 {
		o.Missing("pools", "a list with inferencePool, service or selector is right")
	}
	o.Close()
}

// lookupInterval is the default of the time between two looks at a name.
const lookupInterval = 5 * time.Second

func (c *Config) readDNS(discovery *strictjson.Object, r *topology.Reader) {
	for _, o := range discovery.Objects("dns") {
		p, port := dns.Pool{Type: "A", Interval: lookupInterval}, 0
		o.String("name", &p.Name)
		o.OneOf("type", &p.Type, "A", "AAAA", "SRV")
		o.Int("port", &port, 1, 65535)
		p.Port = uint16(port)
		o.Duration("interval", &p.Interval, 100*time.Millisecond)
		o.String("server", &p.Server)
		if o.Has("server") {
			topology.CheckAddress(o, "server", &p.Server)
		}
		r.Traits(o, &p.Engine, &p.Labels, &p.Models)
		p.Access = r.ReadAccess(o)
		o.Close()
		switch {
		case p.Name == "":
			o.Missing("name", "one such as vllm.default.svc.cluster.local is right")
		case !isDNSName(p.Name):
			o.Mistake("name",
				strictjson.Quote(p.Name)+" is no name; one such as vllm.default.svc.cluster.local is right")
		case p.Type == "SRV" && o.Has("port"):
			o.Mistake("port", "SRV records have their own; leaving it out is right")
		case p.Type != "SRV" && !o.Has("port"):
			o.Missing("port", "that of the model servers is right")
		case slices.ContainsFunc(c.DNS, func(other dns.Pool) bool {
			return other.Name == p.Name && other.Type == p.Type && other.Port == p.Port
		}):
			o.Mistake("name", strictjson.Quote(p.Name)+" is there twice; once is right")
		}
		c.DNS = append(c.DNS, p)
	}
}

// isDNSName reports whether a name can be looked up. Of one that cannot it is said that it does not exist, as of one
// without records.
func isDNSName(name string) bool {
	name = strings.TrimSuffix(name, ".")
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, labelCharacters) != "" {
			return false
		}
	}
	return len(name) <= 253
}

const labelCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
