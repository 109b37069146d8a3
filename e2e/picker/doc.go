// Package picker compares Pintle with an endpoint picker of llm-d, which runs beside it on this machine, without
// Kubernetes: both get the same document, the same metrics and the same requests, and must rank the same endpoints
// first.
//
// The picker is the program that PINTLE_PICKER names; without it the tests are skipped.
package picker
