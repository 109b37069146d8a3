// Package selectors are the plug-ins that choose the model behind a virtual one.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package selectors
