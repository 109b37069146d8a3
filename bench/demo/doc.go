// Command demo shows Pintle at work on one machine: simulated model servers, the sidecar and Envoy with the
// repository's envoy.yaml. Beside it runs the same once more with random choice, under the same load at the same time,
// so that what Pintle gains can be seen.
package main
