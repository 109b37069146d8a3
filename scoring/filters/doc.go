// Package filters are the plug-ins that remove endpoints which must not serve a request.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package filters
