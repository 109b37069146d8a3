package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/internal/yamldoc"
)

// unread are the mistakes of files that a document names, each behind the key that names it.
type unread strictjson.Mistakes

// note adds each line of what is wrong with the files below a key, but for those that are told already: an endpoint has
// what it leaves out from another place.
func (u *unread) note(key string, err error) {
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !slices.ContainsFunc(*u, func(told string) bool { return strings.HasSuffix(told, line) }) {
			*u = append(*u, key+line)
		}
	}
}

// in puts a document's file and lines before the mistakes.
func (u unread) in(path string, content []byte) error {
	if len(u) == 0 {
		return nil
	}
	document, err := yamldoc.Read(content)
	if err != nil {
		return inFile(path, err)
	}
	return inFile(path, document.Locate(strictjson.Mistakes(u)))
}

// checkFiles reads the files that the configuration names, which is content.
func (c *Config) checkFiles(content []byte) error {
	var mistakes unread
	if c.TokenFile != "" {
		_, err := ReadToken(c.TokenFile)
		mistakes.note("envoy.tokenFile: ", err)
	}
	for _, a := range c.accesses() {
		mistakes.note(a.key+".", a.Check())
	}
	var listed error
	if c.EndpointsFile != "" {
		list, err := os.ReadFile(c.EndpointsFile)
		mistakes.note("discovery.file: ", err)
		if err == nil {
			listed = c.checkEndpoints(list, mistakes)
		}
	}
	return errors.Join(mistakes.in(c.Path, content), listed)
}

// checkEndpoints checks the list in EndpointsFile, and reads the files that it names but for those that are told.
func (c *Config) checkEndpoints(content []byte, told unread) error {
	more, err := c.ParseEndpoints(content)
	if err != nil {
		return inFile(c.EndpointsFile, err)
	}
	mistakes := slices.Clone(told)
	for i := range more.Endpoints {
		if a := more.Endpoints[i].Access; a != nil {
			mistakes.note(fmt.Sprintf("endpoints[%d].", i), a.Check())
		}
	}
	return cmp.Or(mistakes[len(told):].in(c.EndpointsFile, content),
		joined([]topology.Source{{Name: "discovery.static", Part: c.Static}, {Name: c.EndpointsFile, Part: more}}))
}

// keyed is how endpoints are asked, and the key that says so.
type keyed struct {
	key string
	*topology.Access
}

// accesses are all ways in which endpoints that the configuration knows of are asked.
func (c *Config) accesses() []keyed {
	all := []keyed{{"scrape", &c.Scrape.Access}}
	for i := range c.Static.Endpoints {
		all = append(all, keyed{fmt.Sprintf("discovery.static[%d]", i), c.Static.Endpoints[i].Access})
	}
	for i := range c.DNS {
		all = append(all, keyed{fmt.Sprintf("discovery.dns[%d]", i), c.DNS[i].Access})
	}
	if c.Replicate != nil {
		all = append(all, keyed{"replicate", &c.Replicate.Access})
	}
	if c.Kubernetes != nil {
		for i := range c.Kubernetes.Pools {
			all = append(all, keyed{fmt.Sprintf("discovery.kubernetes.pools[%d]", i), c.Kubernetes.Pools[i].Access})
		}
	}
	return slices.DeleteFunc(all, func(a keyed) bool { return a.Access == nil })
}

// checkPluginFiles reads the files that the filter's configuration names.
func (c *Config) checkPluginFiles() error {
	var mistakes unread
	if p := c.layer.Metrics; p != nil {
		a := c.access(p, topology.Access{})
		mistakes.note("metrics-data-source: ", a.Check())
	}
	if p := c.layer.Models; p != nil {
		a := c.access(p, topology.Access{})
		mistakes.note("models-data-source: ", a.Check())
	}
	var own, listed error
	if c.PluginEndpoints {
		list, err := os.ReadFile(c.EndpointsFile)
		mistakes.note("file-discovery: path: ", err)
		if err == nil {
			listed = c.checkEndpoints(list, mistakes)
		}
	}
	if mistakes != nil {
		own = inFile(c.Plugins, errors.New(documentKeys.Replace(strings.Join(mistakes, "\n"))))
	}
	return errors.Join(own, listed)
}

// documentKeys are what the filter's configuration calls the files of a page.
var documentKeys = strings.NewReplacer(": tls.ca: ", ": caCertPath: ", ": tls.certificate: ", ": clientCertPath: ")
