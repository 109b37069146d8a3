package kubernetes

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	gslices "slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// portOf is an endpoint, and the pod or the address whose port it is.
type portOf struct {
	topology.Endpoint
	of string
}

// part makes endpoints, objectives and rewrites of what is cached. A pod that two pools choose belongs to the first.
// The error names what cannot be read, and the part is what else there is. It is nil as long as some InferencePool has
// never been readable since the start: Envoys may know its endpoints from the sidecar before.
func (d *Discovery) part() (*topology.Part, error) {
	t := &topology.Part{}
	var unread []error
	waits := false
	first := map[string]*Pool{} // that chooses a pod or an address
	for i := range d.config.Pools {
		p := &d.config.Pools[i]
		endpoints, err := d.endpoints(p)
		unread = append(unread, err)
		_, known := d.readable[p]
		waits = waits || err != nil && !known
		name := p.Namespace + "/" + cmp.Or(p.InferencePool, p.Service, p.Selector)
		t.Pools = append(t.Pools, name)
		for _, e := range endpoints {
			if owner := first[e.of]; owner == nil || owner == p {
				first[e.of] = p
				e.Pool = name
				t.Endpoints = append(t.Endpoints, e.Endpoint)
			}
		}
	}
	if d.complete = d.complete || !waits; !d.complete {
		return nil, errors.Join(unread...)
	}
	// The cache has no order.
	gslices.SortStableFunc(t.Endpoints, func(a, b topology.Endpoint) int { return cmp.Compare(a.Name, b.Name) })
	return t, errors.Join(append(unread, d.rules(t))...)
}

func (d *Discovery) endpoints(p *Pool) ([]portOf, error) {
	switch {
	case p.InferencePool != "":
		return d.ofInferencePool(p)
	case p.Service != "":
		return d.ofService(p), nil
	}
	selector, err := labels.Parse(p.Selector)
	if err != nil {
		return nil, err
	}
	ports := make([]uint16, len(p.Ports))
	for i, text := range p.Ports {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("port %q of selector %q is no number", text, p.Selector)
		}
		ports[i] = uint16(port)
	}
	return d.ofPods(p, selector, ports), nil
}

// ofPods returns an endpoint for each port of each ready pod that the selector chooses.
func (d *Discovery) ofPods(p *Pool, selector labels.Selector, ports []uint16) (found []portOf) {
	if selector.Empty() {
		return nil
	}
	for _, pod := range all[*corev1.Pod](d.watchers[watched{pods.GroupResource(), p.Namespace}]) {
		if !selector.Matches(labels.Set(pod.Labels)) || !ready(pod) {
			continue
		}
		active := active(pod, ports)
		for rank, port := range ports {
			if !active[rank] {
				continue
			}
			if e, ok := d.endpoint(p, pod, pod.Status.PodIP, port); ok {
				e.Name = name(pod.Namespace, pod.Name, rank, len(ports))
				found = append(found, portOf{e, name(pod.Namespace, pod.Name, 0, 1)})
			}
		}
	}
	return found
}

// name is that of a pod's rank: the pod's own when the pool has one port.
func name(namespace, pod string, rank, ports int) string {
	if ports == 1 {
		return namespace + "/" + pod
	}
	return namespace + "/" + pod + "-rank-" + strconv.Itoa(rank)
}

// ready reports whether requests may go to the pod. One that is being deleted may still look ready.
func ready(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.PodIP == "" {
		return false
	}
	return gslices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// active says which of the ports the pod serves: those that its annotation lists, or all, as at an address without a
// pod. What is no port in the list is passed over.
func active(pod *corev1.Pod, ports []uint16) []bool {
	serves := make([]bool, len(ports))
	text, limited := "", false
	if pod != nil {
		if text, limited = pod.Annotations[llmdActivePorts]; !limited {
			text, limited = pod.Annotations[activePorts]
		}
	}
	for i, port := range ports {
		serves[i] = !limited
		for item := range strings.SplitSeq(text, ",") {
			number, err := strconv.ParseUint(strings.TrimSpace(item), 10, 16)
			serves[i] = serves[i] || err == nil && uint16(number) == port
		}
	}
	return serves
}

// endpoint makes an endpoint of a pod, or of an address without one, but for its name.
func (d *Discovery) endpoint(p *Pool, pod *corev1.Pod, ip string, port uint16) (e topology.Endpoint, ok bool) {
	address, err := netip.ParseAddr(ip)
	if err != nil || port == 0 || address.Zone() != "" {
		return e, false
	}
	e.Address = netip.AddrPortFrom(address, port).String()
	e.Engine, e.Models, e.Access = p.Engine, p.Models, p.Access
	merged := map[string]string{}
	if pod != nil {
		e.Node = pod.Status.HostIP
		for key, value := range pod.Labels {
			merged[key] = value
		}
		for _, key := range []string{engineLabel, llmdEngineLabel, d.config.EngineLabel} {
			if engine := d.config.Engine(pod.Labels[key]); engine != "" {
				e.Engine = engine
			}
		}
	}
	for _, l := range p.Labels {
		merged[l.Key] = l.Value
	}
	for key, value := range merged {
		e.Labels = append(e.Labels, snapshot.Label{Key: key, Value: value})
	}
	gslices.SortFunc(e.Labels, func(a, b snapshot.Label) int { return cmp.Compare(a.Key, b.Key) })
	return e, true
}

// ofService returns an endpoint for each chosen port of each ready address in the Service's slices. A pod with an
// address of either family is in the slices of both, and is one endpoint, at its own address if that is there.
func (d *Discovery) ofService(p *Pool) (found []portOf) {
	there := map[string]int{}
	for _, slice := range d.slicesOf(p) {
		ports := p.slicePorts(slice.Ports)
		for _, at := range slice.Endpoints {
			pod, endpoints := d.ofAddress(p, &at, ports)
			for _, e := range endpoints {
				i, twice := there[e.Name]
				switch {
				case !twice:
					there[e.Name] = len(found)
					found = append(found, e)
				case better(pod, &e.Endpoint, &found[i].Endpoint):
					found[i] = e
				}
			}
		}
	}
	return found
}

// ofAddress returns an endpoint for each of the ports that an address of a slice serves, and the pod behind it, nil for
// none. One that is not ready has no endpoints.
func (d *Discovery) ofAddress(p *Pool, at *discoveryv1.Endpoint, ports []uint16) (pod *corev1.Pod,
	found []portOf) {
	if len(at.Addresses) == 0 || at.Conditions.Ready != nil && !*at.Conditions.Ready {
		return nil, nil
	}
	pod, base := d.podOf(p, at)
	if pod == nil && at.TargetRef != nil && at.TargetRef.Kind == "Pod" || pod != nil && !ready(pod) {
		return nil, nil // the pod's own watch is ahead of the slice
	}
	active := active(pod, ports)
	for rank, port := range ports {
		if !active[rank] {
			continue
		}
		if e, ok := d.endpoint(p, pod, at.Addresses[0], port); ok {
			e.Name = name(p.Namespace, base, rank, len(ports))
			found = append(found, portOf{e, name(p.Namespace, base, 0, 1)})
		}
	}
	return pod, found
}

// slicesOf returns the slices of the pool's Service that have addresses.
func (d *Discovery) slicesOf(p *Pool) []*discoveryv1.EndpointSlice {
	w := d.watchers[watched{slices.GroupResource(), p.Namespace}]
	return gslices.DeleteFunc(all[*discoveryv1.EndpointSlice](w), func(s *discoveryv1.EndpointSlice) bool {
		return s.Labels[discoveryv1.LabelServiceName] != p.Service || s.AddressType == discoveryv1.AddressTypeFQDN
	})
}

// better reports whether an address of a pod is to be taken in place of another. The cache has no order, so that the
// answer must not depend on which comes first.
func better(pod *corev1.Pod, e, than *topology.Endpoint) bool {
	if pod != nil {
		if own := pod.Status.PodIP; isAt(e, own) != isAt(than, own) {
			return isAt(e, own)
		}
	}
	return e.Address < than.Address
}

func isAt(e *topology.Endpoint, ip string) bool {
	host, _, _ := net.SplitHostPort(e.Address)
	return host == ip
}

// podOf returns the pod behind an address, nil when there is none, and what to call it. Another pod that has taken its
// name is not behind it.
func (d *Discovery) podOf(p *Pool, at *discoveryv1.Endpoint) (pod *corev1.Pod, base string) {
	if at.TargetRef == nil || at.TargetRef.Kind != "Pod" {
		return nil, p.Service + "-" + at.Addresses[0]
	}
	pod = get[*corev1.Pod](d.watchers[watched{pods.GroupResource(), p.Namespace}], p.Namespace, at.TargetRef.Name)
	if id := at.TargetRef.UID; pod != nil && id != "" && id != pod.UID {
		pod = nil
	}
	return pod, at.TargetRef.Name
}

// slicePorts returns the ports that the pool wants, in its order, or all TCP ports in the order of their numbers.
func (p *Pool) slicePorts(given []discoveryv1.EndpointPort) []uint16 {
	var ports []uint16
	for _, port := range given {
		if isPort(port.Port) && (port.Protocol == nil || *port.Protocol == corev1.ProtocolTCP) {
			ports = append(ports, uint16(*port.Port))
		}
	}
	gslices.Sort(ports)
	if len(p.Ports) == 0 {
		return gslices.Compact(ports)
	}
	var wanted []uint16
	for _, text := range p.Ports {
		for _, port := range given {
			named := port.Name != nil && *port.Name == text || port.Port != nil && strconv.Itoa(int(*port.Port)) == text
			if !named || !isPort(port.Port) {
				continue
			}
			if number := uint16(*port.Port); !gslices.Contains(wanted, number) { // its name may stand there as well
				wanted = append(wanted, number)
			}
			break
		}
	}
	return wanted
}

// isPort reports whether n is a port's number: the API server takes any from whoever writes slices.
func isPort(n *int32) bool { return n != nil && *n >= 1 && *n <= 65535 }
