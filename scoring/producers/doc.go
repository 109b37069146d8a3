// Package producers are the plug-ins that find out what filters, scorers and deciders go by.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package producers
