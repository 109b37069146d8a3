package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// kind is one resource and how it is read.
type kind struct {
	schema.GroupVersionResource
	example runtime.Object
	// optional kinds may be unknown to the API server, which then has none. No endpoint waits for the right to see
	// them, nor for an API server that can tell of everything else.
	optional bool
	// fields narrows what is watched.
	fields string
}

var (
	pods = kind{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("pods"), example: &corev1.Pod{},
		fields: "status.phase=Running"}
	slices = kind{GroupVersionResource: discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
		example: &discoveryv1.EndpointSlice{}}

	inferencePools = kind{
		GroupVersionResource: schema.GroupVersionResource{Group: "inference.networking.k8s.io", Version: "v1",
			Resource: "inferencepools"},
		example: &unstructured.Unstructured{},
	}
	objectives = ruleKinds("inferenceobjectives")
	rewrites   = ruleKinds("inferencemodelrewrites")
)

// ruleKinds returns a kind in the groups that define it: llm-d's router has since 0.9, the Gateway API Inference
// Extension before that. The objects of the first group come first.
func ruleKinds(resource string) (kinds []kind) {
	for _, group := range []string{"llm-d.ai", "inference.networking.x-k8s.io"} {
		kinds = append(kinds, kind{
			GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1alpha2", Resource: resource},
			example:              &unstructured.Unstructured{}, optional: true,
		})
	}
	return kinds
}

// clients talk to the API server: in protobuf about its own kinds, in JSON about defined ones.
type clients struct {
	config  *rest.Config
	dynamic dynamic.Interface
	plain   rest.Interface // for what is no kind
	codecs  serializer.CodecFactory
}

func newClients(config *rest.Config) (*clients, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "pintle-sidecar"
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	plain, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(config))
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return &clients{config: config, dynamic: d, plain: plain, codecs: serializer.NewCodecFactory(scheme)}, nil
}

// listWatch returns how to list and watch a kind in a namespace.
func (c *clients) listWatch(k kind, namespace string) (*cache.ListWatch, error) {
	if _, defined := k.example.(*unstructured.Unstructured); defined {
		r := c.dynamic.Resource(k.GroupVersionResource).Namespace(namespace)
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				list, err := r.List(ctx, o)
				if k.optional && apierrors.IsNotFound(err) {
					err = c.unknown(ctx, k, err)
				}
				return list, err
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return r.Watch(ctx, o)
			},
		}, nil
	}
	config := rest.CopyConfig(c.config)
	config.APIPath = "/apis"
	if k.Group == "" {
		config.APIPath = "/api"
	}
	version := k.GroupVersion()
	config.GroupVersion = &version
	config.NegotiatedSerializer = c.codecs.WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return cache.NewFilteredListWatchFromClient(client, k.Resource, namespace,
		func(o *metav1.ListOptions) { o.FieldSelector = k.fields }), nil
}

// watcher keeps the objects of one kind in one namespace, and knows whether the API server can be heard.
type watcher struct {
	kind     kind
	informer cache.SharedIndexInformer
	changed  func()
	// rest reports whether all that is not optional has been listed once.
	rest func() bool

	mu       sync.Mutex
	problems [2]error // of listing and of watching
	listed   bool     // once at least
}

const (
	listing = iota
	watching
)

func newWatcher(c *clients, k kind, namespace string, changed func(), rest func() bool) (*watcher, error) {
	source, err := c.listWatch(k, namespace)
	if err != nil {
		return nil, err
	}
	w := &watcher{kind: k, changed: changed, rest: rest}
	w.informer = cache.NewSharedIndexInformer(w.observed(source), k.example, 0, cache.Indexers{})
	event := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(_, _ any) { changed() },
		DeleteFunc: func(any) { changed() },
	}
	if _, err := w.informer.AddEventHandler(event); err != nil {
		return nil, err
	}
	return w, w.informer.SetTransform(strip)
}

// observed is source with each answer noted, so that a lost API server is known, and one that is back.
func (w *watcher) observed(source *cache.ListWatch) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := source.ListWithContext(ctx, o)
			if w.kind.optional && apierrors.IsNotFound(err) {
				w.note(listing, nil)
				return &unstructured.UnstructuredList{}, nil
			}
			w.note(listing, err)
			if err != nil && w.kind.optional && !w.wasListed() && (apierrors.IsForbidden(err) || w.rest()) {
				return &unstructured.UnstructuredList{}, nil
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			events, err := source.WatchWithContext(ctx, o)
			if w.kind.optional && apierrors.IsNotFound(err) {
				w.note(watching, nil)
				return nil, err
			}
			if lists(o) && apierrors.IsInvalid(err) {
				return events, err // an API server without WatchList: the reflector lists instead
			}
			if err == nil && begins(o) {
				return w.begun(ctx, o, events), nil
			}
			w.note(watching, err)
			return events, refused(o, err)
		},
	}
}

// note keeps why the API server does not answer one of both: that it lists does not say that it can be watched. A
// resource version that is too old is no failure: the reflector lists again.
func (w *watcher) note(what int, err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	w.mu.Lock()
	changed := reason(err) != reason(w.problems[what])
	w.problems[what] = err
	w.listed = w.listed || what == listing && err == nil
	w.mu.Unlock()
	if changed {
		w.changed()
	}
}

// reason is what tells one failure from another: the API server's own word, and of what kind the first cause is. The
// words of one differ each time, as they have ports and times in them.
func reason(err error) string {
	if err == nil {
		return ""
	}
	first := err
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		first = cause
	}
	return fmt.Sprintf("fails %s %T", apierrors.ReasonForError(err), first)
}

func (w *watcher) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(w.problems[listing], w.problems[watching])
}

// wasListed reports whether the API server has ever said what there is.
func (w *watcher) wasListed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.listed
}

// strip drops what is never read, which is most of a pod.
func strip(object any) (any, error) {
	if m, err := meta.Accessor(object); err == nil {
		m.SetManagedFields(nil)
	}
	if pod, ok := object.(*corev1.Pod); ok {
		pod.Spec = corev1.PodSpec{}
		pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = nil, nil
	}
	return object, nil
}

// get returns an object of the watcher's cache by namespace and name, or the zero value.
func get[T any](w *watcher, namespace, name string) (object T) {
	if found, ok, _ := w.informer.GetStore().GetByKey(namespace + "/" + name); ok {
		object, _ = found.(T)
	}
	return object
}

// all returns the watcher's cache.
func all[T any](w *watcher) []T {
	var objects []T
	for _, o := range w.informer.GetStore().List() {
		if object, ok := o.(T); ok {
			objects = append(objects, object)
		}
	}
	return objects
}
