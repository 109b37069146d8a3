// Package handlers are the plug-ins that decide which scheduling profiles run for a request.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package handlers
