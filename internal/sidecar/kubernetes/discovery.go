package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	gslices "slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// Discovery watches the Kubernetes API.
type Discovery struct {
	config   Config
	watchers map[watched]*watcher
	order    []*watcher
	wake     chan struct{}
	// readable are the InferencePools of the configured pools, as they were when they could last be read.
	readable map[*Pool]inferencePool
	// complete is set once no InferencePool that was there had yet to be read.
	complete bool
}

// watched is what one watcher sees.
type watched struct {
	resource  schema.GroupResource
	namespace string
}

// silence has client-go not tell on standard error what Run tells. Its logger is that of the process, which goroutines
// of an earlier Discovery may still read.
var silence = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// New checks the configuration and reads how the API server is reached, without asking it anything.
func New(c Config) (*Discovery, error) {
	access, err := clientConfig(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	if c.Namespace == "" {
		c.Namespace = ownNamespace()
	}
	clients, err := newClients(access)
	if err != nil {
		return nil, err
	}
	silence()
	d := &Discovery{config: c, watchers: map[watched]*watcher{}, wake: make(chan struct{}, 1),
		readable: map[*Pool]inferencePool{}}
	for i := range d.config.Pools {
		p := &d.config.Pools[i]
		if p.Namespace == "" {
			p.Namespace = c.Namespace
		}
		for _, k := range p.kinds() {
			if err := d.watch(clients, k, p.Namespace); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// CheckKubeconfig reads a file that says where the API server is.
func CheckKubeconfig(path string) error {
	access, err := clientConfig(path)
	if err == nil {
		_, err = newClients(access)
	}
	return err
}

func clientConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}

// ownNamespace is that of the pod's service account.
func ownNamespace() string {
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name
	}
	return "default"
}

// kinds are the resources that a pool needs.
func (p *Pool) kinds() []kind {
	switch {
	case p.InferencePool != "":
		return gslices.Concat([]kind{inferencePools, pods}, objectives, rewrites)
	case p.Service != "":
		return []kind{slices, pods}
	}
	return []kind{pods}
}

func (d *Discovery) watch(c *clients, k kind, namespace string) error {
	key := watched{k.GroupResource(), namespace}
	if d.watchers[key] != nil {
		return nil
	}
	w, err := newWatcher(c, k, namespace, d.changed, func() bool { return d.synced(false) })
	if err != nil {
		return err
	}
	d.watchers[key] = w
	d.order = append(d.order, w)
	return nil
}

// changed wakes Run. Events that come while it works are one.
func (d *Discovery) changed() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Name implements topology.Discovery.
func (d *Discovery) Name() string { return "discovery.kubernetes" }

// Run implements topology.Discovery.
func (d *Discovery) Run(ctx context.Context, emit func(part topology.Part, err error)) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, w := range d.order {
		running.Go(func() { w.informer.RunWithContext(ctx) })
	}
	running.Go(func() {
		// A list of nothing is no event.
		for _, w := range d.order {
			cache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced)
		}
		d.changed()
	})
	var before told
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		}
		part, err := d.now()
		before.tell(part, err, emit)
	}
}

// now returns what is known, nil before everything has been listed and every InferencePool read once, and what goes
// wrong, one of topology.Partly where all endpoints are heard of. What no endpoint waits for hides nothing else.
func (d *Discovery) now() (*topology.Part, error) {
	failure, waited := d.failure()
	if !d.synced(true) {
		return nil, failure
	}
	part, unread := d.part()
	switch {
	case part == nil:
		return nil, errors.Join(unread, failure)
	case waited:
		return part, failure
	}
	return part, topology.Partly(errors.Join(d.missing(), unread, failure))
}

// told is what has been emitted last.
type told struct {
	part    *topology.Part
	problem string
}

// tell emits what is new: a part, nil for none, what goes wrong, or both.
func (t *told) tell(part *topology.Part, err error, emit func(part topology.Part, err error)) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	was := t.problem
	t.problem = problem
	switch {
	case part != nil && (t.part == nil || problem == "" && was != "" || !reflect.DeepEqual(t.part, part) ||
		problem != was && topology.IsPartly(err)):
		t.part = part
		emit(*part, topology.Partly(err))
	case problem != was && err != nil:
		emit(topology.Part{}, err)
	}
}

// failure names all kinds that the API server cannot be heard about, those first that endpoints wait for, and reports
// whether there are such. It is nil when all can. That the API server cannot be reached is said of one kind alone: it
// goes for all of them.
func (d *Discovery) failure() (err error, waited bool) {
	var all []error
	unreached := false
	for _, optional := range []bool{false, true} {
		for _, w := range d.order {
			err := w.failure()
			if err == nil || w.kind.optional != optional {
				continue
			}
			waited = waited || !optional
			if _, away := errors.AsType[*url.Error](err); !away || !unreached {
				all = append(all, fmt.Errorf("watch %s: %w", w.kind.GroupResource(), err))
				unreached = unreached || away
			}
		}
	}
	return errors.Join(all...), waited
}

// synced reports whether everything has been listed once, optional kinds among it or not.
func (d *Discovery) synced(optional bool) bool {
	for _, w := range d.order {
		if (optional || !w.kind.optional) && !w.informer.HasSynced() {
			return false
		}
	}
	return true
}
