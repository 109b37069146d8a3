// Package scorers are the plug-ins that say how well an endpoint suits a request.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package scorers
