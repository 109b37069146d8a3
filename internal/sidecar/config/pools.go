package config

import (
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/dns"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/snapshot"
)

// traits are what a pool says of all its endpoints. Labels and models tell the pools of one sidecar apart.
func (c *Config) traits(engine *string, labels *[]snapshot.Label, models *[]string) map[string]func(value) error {
	return map[string]func(value) error{
		"engine": func(v value) (err error) { *engine, err = c.readEngine(v); return err },
		"labels": func(v value) (err error) { *labels, err = readLabels(v); return err },
		"models": func(v value) (err error) { *models, err = v.texts(); return err },
	}
}

func textInto(to *string, right string) func(value) error {
	return func(v value) (err error) { *to, err = v.nonEmpty(right); return err }
}

func (c *Config) readKubernetes(v value) error {
	k := &kubernetes.Config{}
	c.Kubernetes = k
	err := v.fields(map[string]func(value) error{
		"kubeconfig": func(v value) error { return c.readPath(v, &k.Kubeconfig) },
		"namespace":  textInto(&k.Namespace, "a namespace"),
		"pools":      func(v value) error { return c.readPools(v, k) },
	})
	if err == nil && len(k.Pools) == 0 {
		return v.errorf("pools: missing; a list with inferencePool, service or selector is right")
	}
	return err
}

func (c *Config) readPools(v value, k *kubernetes.Config) error {
	items, err := v.items()
	if err != nil {
		return err
	}
	k.Pools = make([]kubernetes.Pool, len(items))
	for i, item := range items {
		p := &k.Pools[i]
		read := c.traits(&p.Engine, &p.Labels, &p.Models)
		read["namespace"] = textInto(&p.Namespace, "a namespace")
		read["inferencePool"] = textInto(&p.InferencePool, "the name of an InferencePool")
		read["service"] = textInto(&p.Service, "the name of a Service")
		read["selector"] = textInto(&p.Selector, "a label selector such as app=vllm")
		read["ports"] = func(v value) (err error) { p.Ports, err = readPorts(v); return err }
		if err := item.fields(read); err != nil {
			return err
		}
		if err := p.Check(); err != nil {
			return item.errorf("%v", err)
		}
	}
	return nil
}

// readPorts reads names and numbers.
func readPorts(v value) ([]string, error) {
	items, err := v.items()
	if err != nil {
		return nil, err
	}
	ports := make([]string, len(items))
	for i, item := range items {
		var number uint16
		if text, err := item.text(); err == nil {
			ports[i] = text
		} else if err := readPort(item, &number); err != nil {
			return nil, err
		} else {
			ports[i] = item.resolved().Value
		}
	}
	return ports, nil
}

// lookupInterval is the default of the time between two looks at a name.
const lookupInterval = 5 * time.Second

func (c *Config) readDNS(v value) error {
	items, err := v.items()
	if err != nil {
		return err
	}
	c.DNS = make([]dns.Pool, len(items))
	for i, item := range items {
		p := &c.DNS[i]
		p.Type, p.Interval = "A", lookupInterval
		read := c.traits(&p.Engine, &p.Labels, &p.Models)
		read["name"] = textInto(&p.Name, "a name such as vllm.default.svc.cluster.local")
		read["port"] = func(v value) error { return readPort(v, &p.Port) }
		read["interval"] = durationInto(&p.Interval, 100*time.Millisecond)
		read["server"] = func(v value) (err error) { p.Server, err = readAddress(v); return err }
		read["type"] = func(v value) (err error) {
			if p.Type, err = v.text(); err == nil && p.Type != "A" && p.Type != "AAAA" && p.Type != "SRV" {
				return v.errorf("%q is no type of record; A, AAAA or SRV is right", p.Type)
			}
			return err
		}
		switch err := item.fields(read); {
		case err != nil:
			return err
		case p.Name == "":
			return item.errorf("name is missing; one such as vllm.default.svc.cluster.local is right")
		case p.Type == "SRV" && p.Port != 0:
			return item.errorf("port: SRV records have their own; leaving it out is right")
		case p.Type != "SRV" && p.Port == 0:
			return item.errorf("port is missing; that of the model servers is right")
		}
		if slices.ContainsFunc(c.DNS[:i], func(o dns.Pool) bool { return o.Name == p.Name && o.Type == p.Type && o.Port == p.Port }) {
			return item.errorf("%s is there twice; once is right", p.Name)
		}
	}
	return nil
}
