// Package config reads the sidecar's configuration and the lists of endpoints. Every mistake names the line, the key, the value and what
// would be right.
package config

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/dns"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// Config is the sidecar's configuration, complete and checked.
type Config struct {
	// Path is the file that it was read from. Static is read from there again when the file changes.
	Path string
	// Ingests are the Envoys to feed.
	Ingests []Ingest
	// Token is the bearer token of every ingest listener; TokenFile, when set, is the file that holds it instead.
	Token, TokenFile string
	// PushInterval is the shortest time between two pushes to one Envoy; changes within it go out together.
	PushInterval time.Duration
	// Scrape says how often and for how long endpoints are asked.
	Scrape Scrape
	// Engines are the kinds of model servers that can be read.
	Engines engine.Set
	// AdminAddress is where the sidecar answers questions about itself.
	AdminAddress string
	// Profiles has it offer Go's profiles there, under /debug/pprof/.
	Profiles bool
	// Static are the endpoints of the configuration itself, with its objectives and rewrites.
	Static topology.Part
	// EndpointsFile names a file with more endpoints. Empty is none.
	EndpointsFile string
	// Kubernetes says what to watch there; nil is nothing. DNS are names to look up.
	Kubernetes *kubernetes.Config
	DNS        []dns.Pool
}

// SameButStatic reports whether c and o differ in nothing but what is read again when the file changes.
func (c *Config) SameButStatic(o *Config) bool {
	same := *c
	same.Static = o.Static
	return reflect.DeepEqual(&same, o)
}

// Scrape says how often and for how long endpoints are asked.
type Scrape struct {
	// Interval is the time between two scrapes of an endpoint under load, IdleInterval that of one without.
	Interval, IdleInterval time.Duration
	// Timeout is the longest that one may take.
	Timeout time.Duration
	// Models is the time between two looks at the models that an endpoint serves; 0 leaves it to the Envoys: half a minute
	// once one asks for them, else never.
	Models time.Duration
}

// Ingest is one Envoy's ingest listener.
type Ingest struct {
	// Name is the URL as the configuration has it.
	Name string
	// URL is what is posted to. Socket is the unix socket that it is reached by; empty is TCP.
	URL, Socket string
}

const (
	// IngestPath is where the filter takes snapshots.
	IngestPath     = "/pintle/v1/snapshot"
	shortestPeriod = 5 * time.Millisecond
	// longestIdle is the longest default of scrape.idleInterval. With a heartbeat more it stays below the 200 ms after
	// which the saturation detector takes a sample for stale.
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
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.EndpointsFile != "" {
		if err := c.checkEndpointsFile(); err != nil {
			return nil, fmt.Errorf("%s: discovery.file: %w", path, err)
		}
	}
	if c.TokenFile != "" {
		if _, err := ReadToken(c.TokenFile); err != nil {
			return nil, fmt.Errorf("%s: envoy.tokenFile: %w", path, err)
		}
	}
	return c, nil
}

func (c *Config) checkEndpointsFile() error {
	content, err := os.ReadFile(c.EndpointsFile)
	if err != nil {
		return err
	}
	more, err := c.ParseEndpoints(content)
	if err != nil {
		return fmt.Errorf("%s: %w", c.EndpointsFile, err)
	}
	return joined([]topology.Source{{Name: "discovery.static", Part: c.Static}, {Name: c.EndpointsFile, Part: more}})
}

// Parse checks a configuration without looking at any other file. Relative paths in it start from its own folder.
func Parse(path string, content []byte) (*Config, error) {
	root, err := parseYAML(content)
	if err != nil {
		return nil, err
	}
	c := &Config{
		Path:         path,
		PushInterval: 10 * time.Millisecond,
		Scrape:       Scrape{Interval: 50 * time.Millisecond, Timeout: time.Second},
		Engines:      engine.Known,
		AdminAddress: "127.0.0.1:10001",
	}
	if err := c.readEngines(root); err != nil {
		return nil, err
	}
	discovery := false
	err = root.fields(map[string]func(value) error{
		"envoy":   c.readEnvoy,
		"engines": func(value) error { return nil }, // what follows needs them: read above
		"scrape":  c.readScrape,
		"push": func(v value) error {
			return v.fields(map[string]func(value) error{"interval": durationInto(&c.PushInterval, shortestPeriod)})
		},
		"admin":         c.readAdmin,
		"discovery":     func(v value) error { discovery = true; return c.readDiscovery(v) },
		"objectives":    func(v value) (err error) { c.Static.Objectives, err = readObjectives(v); return err },
		"modelRewrites": func(v value) (err error) { c.Static.Rewrites, err = readRewrites(v); return err },
	})
	switch {
	case err != nil:
		return nil, err
	case len(c.Ingests) == 0:
		return nil, errors.New("envoy.ingest: missing; the URL of Envoy's ingest listener is right, such as http://127.0.0.1:15099" + IngestPath)
	case c.Token == "" && c.TokenFile == "":
		return nil, errors.New("envoy.token: missing; the filter's ingest.token is right, or envoy.tokenFile")
	case c.Token != "" && c.TokenFile != "":
		return nil, errors.New("envoy.token, envoy.tokenFile: both are there; one of them is right")
	case !discovery:
		return nil, errors.New("discovery: missing; one of static, file, kubernetes and dns is right")
	}
	if c.Scrape.IdleInterval == 0 {
		c.Scrape.IdleInterval = max(c.Scrape.Interval, min(2*c.Scrape.Interval, longestIdle))
	}
	if err := joined([]topology.Source{{Name: "discovery.static", Part: c.Static}}); err != nil {
		return nil, err
	}
	return c, nil
}

// joined says what of the sources would be left out.
func joined(sources []topology.Source) error {
	if _, problems := topology.Join(sources); len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	return nil
}

func durationInto(d *time.Duration, least time.Duration) func(value) error {
	return func(v value) (err error) {
		*d, err = v.duration(least)
		return err
	}
}

func (c *Config) readScrape(v value) error {
	err := v.fields(map[string]func(value) error{
		"interval":     durationInto(&c.Scrape.Interval, shortestPeriod),
		"idleInterval": durationInto(&c.Scrape.IdleInterval, shortestPeriod),
		"timeout":      durationInto(&c.Scrape.Timeout, shortestPeriod),
		"models":       durationInto(&c.Scrape.Models, time.Second),
	})
	if err == nil && c.Scrape.IdleInterval != 0 && c.Scrape.IdleInterval < c.Scrape.Interval {
		return v.errorf("idleInterval %v is shorter than interval %v; the same or longer is right", c.Scrape.IdleInterval, c.Scrape.Interval)
	}
	return err
}

func (c *Config) readAdmin(v value) error {
	return v.fields(map[string]func(value) error{
		"pprof": func(v value) (err error) { c.Profiles, err = v.boolean(); return err },
		"address": func(v value) error {
			text, err := v.text()
			if err != nil {
				return err
			}
			_, port, err := net.SplitHostPort(text)
			if number, parseErr := strconv.ParseUint(port, 10, 16); err != nil || parseErr != nil || number > 65535 {
				return v.errorf("%q is no address; host:port such as 127.0.0.1:10001 is right", text)
			}
			c.AdminAddress = text
			return nil
		},
	})
}

func (c *Config) readDiscovery(v value) error {
	given := 0
	err := v.fields(map[string]func(value) error{
		"static": func(v value) (err error) {
			given++
			c.Static.Endpoints, err = c.readEndpoints(v)
			return err
		},
		"file":       func(v value) error { given++; return c.readPath(v, &c.EndpointsFile) },
		"kubernetes": func(v value) error { given++; return c.readKubernetes(v) },
		"dns":        func(v value) error { given++; return c.readDNS(v) },
	})
	if err == nil && given == 0 {
		return v.errorf("nothing is there; one of static, file, kubernetes and dns is right")
	}
	return err
}

func (c *Config) readPath(v value, path *string) error {
	text, err := v.text()
	if err != nil {
		return err
	}
	if text == "" {
		return v.errorf(`"" is no file; a path is right`)
	}
	*path = text
	if !filepath.IsAbs(text) {
		*path = filepath.Join(filepath.Dir(c.Path), text)
	}
	return nil
}
