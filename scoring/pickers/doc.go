// Package pickers are the plug-ins that choose among scored endpoints.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package pickers
