//go:build istio

package istio

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
)

// gatewayLabel is the label by which istiod tells the pods of a Gateway of the Gateway API.
const gatewayLabel = "gateway.networking.k8s.io/gateway-name"

// gatewayAPI are the overlays whose pods istiod makes, with those that say the same for an Istio Gateway, and the
// chart's values.
var gatewayAPI = []struct{ name, like, values string }{
	{"gateway-api", "oci", `{gateway: {api: true}}`},
	{"gateway-api-override-host", "override-host", `{gateway: {api: true}, destination: override-host}`},
}

// destinationOf is where the routes among objects lead.
func destinationOf(objects []mesh.Object) (host, port any) {
	if route := mesh.Find(objects, "HTTPRoute", "pintle"); route != nil {
		backend := route.At("spec", "rules", 0, "backendRefs", 0).(mesh.Object)
		if backend["kind"] == nil { // a Service
			return fmt.Sprintf("%s.%s.svc.cluster.local", backend["name"], backend["namespace"]), backend["port"]
		}
		return backend["name"], backend["port"]
	}
	destination := mesh.Find(objects, "VirtualService", "pintle").At("spec", "http", 0, "route", 0,
		"destination").(mesh.Object)
	return destination["host"], destination.At("port", "number")
}

// listen moves the listener of requests to a port on loopback. A Gateway of the Gateway API has no address of its own.
func (g *gateway) listen(namespace string, port int) {
	gateway := g.find("Gateway", "pintle")
	if gateway.At("spec", "listeners") == nil {
		gateway.Set(port, "spec", "servers", 0, "port", "number")
		gateway.Set("127.0.0.1", "spec", "servers", 0, "bind")
		return
	}
	gateway.Set(port, "spec", "listeners", 0, "port")
	address := map[string]any{"socket_address": map[string]any{"address": "127.0.0.1", "port_value": port}}
	g.objects = append(g.objects, mesh.Object{
		"apiVersion": "networking.istio.io/v1alpha3", "kind": "EnvoyFilter",
		"metadata": map[string]any{"name": "loopback", "namespace": namespace},
		"spec": map[string]any{
			"workloadSelector": map[string]any{"labels": map[string]any{gatewayLabel: "pintle"}},
			"configPatches": []any{map[string]any{
				"applyTo": "LISTENER",
				"match":   map[string]any{"context": "GATEWAY", "listener": map[string]any{"portNumber": port}},
				"patch":   map[string]any{"operation": "MERGE", "value": map[string]any{"address": address}},
			}},
		},
	})
}

// backend is the Service that a route of the Gateway API names, which it must find. A ServiceEntry of the same host and
// namespace has the endpoints.
func (g *gateway) backend() (service mesh.Object, namespace string) {
	backend := g.find("HTTPRoute", "pintle").At("spec", "rules", 0, "backendRefs", 0).(mesh.Object)
	namespace, _ = backend["namespace"].(string)
	return mesh.Object{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": backend["name"], "namespace": namespace},
		"spec": map[string]any{"ports": []any{map[string]any{"name": "http", "port": backend["port"],
			"protocol": "TCP"}}},
	}, namespace
}

// deployment is the gateway's Deployment, where need be once istiod has made it, and with it its Service.
func (g *gateway) deployment(t *testing.T) mesh.Object {
	t.Helper()
	if shipped := g.find("Deployment", "pintle-gateway"); shipped != nil {
		return shipped
	}
	namespace := g.find("Gateway", "pintle").At("metadata", "namespace")
	var made mesh.Object
	for _, kind := range [][2]string{{"v1", "Service"}, {"apps/v1", "Deployment"}} {
		wanted := mesh.Object{"apiVersion": kind[0], "kind": kind[1],
			"metadata": map[string]any{"name": "pintle-gateway", "namespace": namespace}}
		harness.WaitFor(t, pushLimit, "istiod's "+wanted.String(), func() (bool, string) {
			var err error
			made, err = control.Get(wanted)
			return err == nil, fmt.Sprint(err)
		})
		g.objects = append(g.objects, made)
	}
	return made
}

// TestGatewayAPIManifests: what is shipped for the Gateway API is valid, names no InferencePool, and has all that the
// overlay for an Istio Gateway has, for the pods of the Gateway.
func TestGatewayAPIManifests(t *testing.T) {
	if err := control.Apply(mesh.Namespace("pintle")); err != nil {
		t.Fatal(err)
	}
	for _, overlay := range gatewayAPI {
		t.Run(overlay.name, func(t *testing.T) {
			objects := render(t, "overlays/"+overlay.name)
			wantShipped(t, objects)
			for _, o := range objects {
				if content := text(t, o); strings.Contains(content, "InferencePool") {
					t.Errorf("%s: names an InferencePool, whose picker Istio would ask", o)
				}
			}
			wantOneService(t, objects)
			wantTries(t, objects)
			wantAlike(t, objects, render(t, "overlays/"+overlay.like))
			wantSame(t, chart(t, overlay.values), render(t, "overlays/"+overlay.name))
		})
	}
}

// wantTries checks that a request is tried as often as endpoints are named for it.
func wantTries(t *testing.T, objects []mesh.Object) {
	t.Helper()
	header := mesh.Find(objects, "HTTPRoute", "pintle").At("spec", "rules", 0, "filters", 0, "requestHeaderModifier",
		"set", 0).(mesh.Object)
	ranks := 1
	if mesh.Find(objects, "ServiceEntry", "pintle-model-servers") == nil {
		ranks = ranksOf(t, configurationOf(t, objects))
	}
	if want := fmt.Sprint(ranks - 1); header["name"] != "x-envoy-max-retries" || header["value"] != want {
		t.Errorf("the route sets %s, want x-envoy-max-retries: %s, one endpoint for each try", text(t, header), want)
	}
}

// wantAlike compares what is not about the gateway itself with an overlay for an Istio Gateway, whose selectors are
// changed to those that are right here.
func wantAlike(t *testing.T, objects, like []mesh.Object) {
	t.Helper()
	got := byName(t, objects)
	added := []string{"Gateway pintle", "HTTPRoute pintle", "ConfigMap pintle-gateway"}
	if mesh.Find(objects, "ServiceEntry", "pintle-model-servers") == nil {
		added = append(added, "ReferenceGrant pintle")
	}
	for _, kind := range added {
		if got[kind] == nil {
			t.Errorf("%s is missing", kind)
		}
		delete(got, kind)
	}
	mesh.Find(like, "NetworkPolicy", "pintle-gateway").Set(80, "spec", "ingress", 0, "ports", 0, "port")
	want := byName(t, like)
	for _, kind := range []string{"Gateway pintle", "VirtualService pintle", "Deployment pintle-gateway",
		"Service pintle-gateway"} {
		delete(want, kind)
	}
	for name, o := range want {
		changed := strings.ReplaceAll(text(t, o), `{"app.kubernetes.io/name":"pintle-gateway"}`,
			`{"`+gatewayLabel+`":"pintle"}`)
		if found := text(t, got[name]); found != changed {
			t.Errorf("%s:\ngot  %s\nwant %s", name, found, changed)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s: is not in the overlay for an Istio Gateway", name)
	}
}

// TestGatewayAPIDeployment: the Deployment that istiod makes has what the one for an Istio Gateway has, once the API
// has filled both.
func TestGatewayAPIDeployment(t *testing.T) {
	const values = `module: {source: file}, sidecar: {plugins: true, env: [{name: HF_TOKEN, value: a}],
		kubernetes: {pools: [{service: model-servers, namespace: default}]}}`
	for _, test := range []struct {
		name          string
		objects, like []mesh.Object
	}{
		{"overlay", render(t, "overlays/gateway-api"), render(t, "base")},
		{"chart", chart(t, `{gateway: {api: true}, `+values+`}`), chart(t, `{`+values+`}`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := &gateway{objects: test.objects}
			g.adapt(t, settings{})
			namespace, _ := g.find("Gateway", "pintle").At("metadata", "namespace").(string)
			if err := control.Apply(append([]mesh.Object{mesh.Namespace(namespace)}, g.objects...)...); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { g.deleteAll(t) })
			made := g.deployment(t)
			wantHarmless(t, made)
			like := mesh.Find(test.like, "Deployment", "pintle-gateway")
			like.Set("like", "metadata", "name")
			like.Set(namespace, "metadata", "namespace")
			if err := control.Apply(like); err != nil {
				t.Fatal(err)
			}
			g.objects = append(g.objects, like)
			want, err := control.Get(like)
			if err != nil {
				t.Fatal(err)
			}
			wantPods(t, made, want)
			if service := g.find("Service", "pintle-gateway"); service.At("spec", "type") != "ClusterIP" ||
				strings.Contains(text(t, service), g.ingest[strings.Index(g.ingest, ":")+1:]) {
				t.Errorf("got the Service %s, want a ClusterIP without the ingest listener", text(t, service))
			}
		})
	}
}

// wantPods compares what two Deployments say of pods, but for what is Istio's.
func wantPods(t *testing.T, made, want mesh.Object) {
	t.Helper()
	pod := []any{"spec", "template", "spec"}
	for _, path := range [][]any{{"spec", "replicas"}, {"spec", "strategy"},
		append(pod, "terminationGracePeriodSeconds"), append(pod, "automountServiceAccountToken"),
		append(pod, "serviceAccountName"), append(pod, "containers", 1), append(pod, "containers", 0, "resources"),
		append(pod, "securityContext", "runAsNonRoot"), append(pod, "securityContext", "seccompProfile")} {
		if got := made.At(path...); !reflect.DeepEqual(got, want.At(path...)) || got == nil {
			t.Errorf("%v:\ngot  %s\nwant %s", path, text(t, got), text(t, want.At(path...)))
		}
	}
	for _, path := range [][]any{append(pod, "volumes"), append(pod, "containers", 0, "env"),
		append(pod, "containers", 0, "volumeMounts")} {
		list, _ := made.At(path...).([]any)
		wanted, _ := want.At(path...).([]any)
		for _, item := range wanted {
			if !slices.ContainsFunc(list, func(has any) bool { return reflect.DeepEqual(has, item) }) {
				t.Errorf("%v has no %s:\n%s", path, text(t, item), text(t, list))
			}
		}
	}
}

// TestPodBootstrap: Istio's agent starts Envoy in the gateway's pods with as many connections and workers as the memory
// is for.
func TestPodBootstrap(t *testing.T) {
	for _, overlay := range []string{"oci", "gateway-api"} {
		t.Run(overlay, func(t *testing.T) {
			g := &gateway{objects: render(t, "overlays/"+overlay)}
			g.adapt(t, settings{})
			if err := control.Apply(g.objects...); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { g.deleteAll(t) })
			bootstrap, arguments, err := control.Bootstrap(g.deployment(t))
			if err != nil {
				t.Fatal(err)
			}
			limit := regexp.MustCompile(`"max_active_downstream_connections": "?20000\b`)
			if !limit.MatchString(bootstrap) {
				t.Errorf("nothing matches %s in Envoy's bootstrap:\n%s", limit, bootstrap)
			}
			if want := "--concurrency 2"; !strings.Contains(arguments, want) {
				t.Errorf("Envoy's arguments are %s, want %s among them", arguments, want)
			}
		})
	}
}
