package kubernetes

import (
	"errors"
	"fmt"
	gslices "slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// missing says all that the configuration names and the API server does not have, or nil. A pool without ready pods is
// nothing of that kind.
func (d *Discovery) missing() error {
	var all []error
	for i := range d.config.Pools {
		p := &d.config.Pools[i]
		switch {
		case p.InferencePool != "":
			switch object := d.inferencePool(p); {
			case object == nil:
				all = append(all, fmt.Errorf("InferencePool %s/%s is not there", p.Namespace, p.InferencePool))
			case deleted(object):
				all = append(all, fmt.Errorf("InferencePool %s/%s is being deleted", p.Namespace, p.InferencePool))
			}
		case p.Service != "":
			all = append(all, d.missingOfService(p))
		}
	}
	return errors.Join(all...)
}

// missingOfService goes by the Service's slices, of which one that selects pods has at least one.
func (d *Discovery) missingOfService(p *Pool) error {
	all := d.slicesOf(p)
	if len(all) == 0 {
		return fmt.Errorf("no EndpointSlice is of the Service %s/%s", p.Namespace, p.Service)
	}
	full := gslices.DeleteFunc(all, func(s *discoveryv1.EndpointSlice) bool { return len(s.Endpoints) == 0 })
	found := gslices.ContainsFunc(full, func(s *discoveryv1.EndpointSlice) bool {
		return len(p.slicePorts(s.Ports)) > 0
	})
	switch {
	case len(full) == 0 || found:
		return nil
	case len(p.Ports) == 0:
		return fmt.Errorf("the EndpointSlices of the Service %s/%s have no TCP port; a Service with one is right",
			p.Namespace, p.Service)
	}
	return fmt.Errorf("the EndpointSlices of the Service %s/%s have none of the ports %s; names, or numbers of "+
		"the pods' ports, are right", p.Namespace, p.Service, strings.Join(p.Ports, ", "))
}
