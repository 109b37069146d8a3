//go:build responses

// Package responses runs real sidecars with the stores that conversations may be in: a real Valkey, a real Redis with
// TLS, and a stand-in for MongoDB that MongoDB's own driver talks to. It kills them. The build tag responses runs it:
// it needs what build/setup.sh responses installs.
package responses
