// Package kubernetes finds model servers by watching the Kubernetes API: the pods of InferencePools, of Services and of
// label selectors, and the InferenceObjectives and InferenceModelRewrites that go with the pools.
//
// Nothing is polled. Each kind of object is watched once for each namespace, and every event leads to a new list of
// endpoints at once. When the API server is gone the last list stays as it is.
package kubernetes

import (
	"errors"
	"fmt"
	gslices "slices"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// Config says what to watch.
type Config struct {
	// Kubeconfig is the file that says where the API server is. Empty is the pod's own service account.
	Kubeconfig string
	// Namespace is that of pools which name none. Empty is the service account's.
	Namespace string
	Pools     []Pool
	// EngineLabel is the label by which pods name their engine, which beats the usual ones; empty is none.
	EngineLabel string
	// Engine returns the engine of a name or alias, or "" for one that is unknown.
	Engine func(name string) string
}

// Pool is one set of model servers. Exactly one of InferencePool, Service and Selector is set.
type Pool struct {
	Namespace string `json:"namespace,omitempty"`
	// InferencePool names an object of inference.networking.k8s.io/v1.
	InferencePool string `json:"inferencePool,omitempty"`
	// Service names a Service, whose EndpointSlices are read.
	Service string `json:"service,omitempty"`
	// Selector chooses pods by their labels, in the form that kubectl takes.
	Selector string `json:"selector,omitempty"`
	// Ports are the ports of a Selector's pods, as numbers, or those of a Service to take, by name or number; none is
	// all of them.
	Ports []string `json:"ports,omitempty"`
	// Engine is that of pods which have no label that names one.
	Engine string `json:"engine,omitempty"`
	// Labels are added to each endpoint's and win over the pod's. Models are the names that it answers to.
	Labels []snapshot.Label `json:"labels,omitempty"`
	Models []string         `json:"models,omitempty"`
	// Access is how its endpoints are asked.
	Access *topology.Access `json:"-"`
}

// The labels by which a pod names its engine, and the annotations that say which of the pool's ports it serves: llm-d's
// holds where both are there.
const (
	engineLabel     = "inference.networking.k8s.io/engine-type"
	llmdEngineLabel = "llm-d.ai/engine-type"
	activePorts     = "inference.networking.k8s.io/active-ports"
	llmdActivePorts = "llm-d.ai/active-ports"
)

// maxPorts is the most ports of a pod, as in an InferencePool.
const maxPorts = 8

// checkNumbers finds numbers among a Service's ports that are none of a port.
func (p *Pool) checkNumbers() error {
	for _, port := range p.Ports {
		if number, err := strconv.ParseInt(port, 10, 64); err == nil && (number < 1 || number > 65535) {
			return fmt.Errorf("ports: %s is no port; a name, or a number from 1 to 65535, is right", port)
		}
	}
	return nil
}

// twice is a port that is there twice, or "".
func (p *Pool) twice() string {
	for i, port := range p.Ports {
		if gslices.Contains(p.Ports[:i], port) {
			return port
		}
	}
	return ""
}

// Check finds mistakes in p.
func (p *Pool) Check() error {
	given := 0
	for _, name := range []string{p.InferencePool, p.Service, p.Selector} {
		if name != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("one of inferencePool, service and selector is right")
	case p.InferencePool != "" && len(p.Ports) > 0:
		return errors.New("ports: the InferencePool has them; leaving it out is right")
	case len(p.Ports) > maxPorts:
		return fmt.Errorf("ports: %d are too many; up to %d are right", len(p.Ports), maxPorts)
	case p.twice() != "":
		return fmt.Errorf("ports: %s is there twice; each port once is right", p.twice())
	case p.Selector == "":
		return p.checkNumbers()
	case len(p.Ports) == 0:
		return errors.New("ports: missing; the numbers of the ports that the pods serve are right")
	}
	for _, port := range p.Ports {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return fmt.Errorf("ports: %q is no port; a number such as 8000 is right with a selector", port)
		}
	}
	if selector, err := labels.Parse(p.Selector); err != nil || selector.Empty() {
		return fmt.Errorf("selector: %q is none; one such as app=vllm is right", p.Selector)
	}
	return nil
}
