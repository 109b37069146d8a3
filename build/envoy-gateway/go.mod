module github.com/pintle-dev/pintle/build/envoy-gateway

go 1.26

// Only its custom resource definitions are used, to check istio/envoy-gateway.yaml.
require github.com/envoyproxy/gateway v1.8.0
