// Package admitters are the plug-ins that say which requests are let in.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package admitters
