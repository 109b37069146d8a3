// Package deciders are the plug-ins that say whether a request gets a stage of its own in disaggregated inference.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package deciders
