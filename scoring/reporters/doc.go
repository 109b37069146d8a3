// Package reporters are the plug-ins that tell Envoy of a request once its answer has ended.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package reporters
