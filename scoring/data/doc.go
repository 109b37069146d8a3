// Package data are the plug-ins of the data layer. They say which data shall be known of the model servers; the sidecar
// fetches it.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package data
