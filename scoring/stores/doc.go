// Package stores are the plug-ins that keep what several requests have in common.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package stores
