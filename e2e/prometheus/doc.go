// Package prometheus has a real Prometheus scrape a sidecar and evaluate the alerts of docs/monitoring. The build tag
// prometheus runs it: it needs what build/setup.sh prometheus installs.
package prometheus
