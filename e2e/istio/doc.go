// Package istio tests what the folder istio ships with a real istiod and a real Kubernetes API: the manifests are
// applied as they are, but for ports, addresses and the registry, and a stock Envoy that presents itself as the
// gateway's pod gets them from istiod; the example for Envoy Gateway is acted on by that.
//
//	make e2e-istio   # builds what is missing, then runs everything
//	go test -tags istio ./e2e/istio -run OCI -v
//
// The tests are behind the build tag istio, as what they run takes twenty minutes to build the first time.
package istio
