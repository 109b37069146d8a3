// Package headers are the plug-ins that tell model servers and clients about a decision in headers.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package headers
