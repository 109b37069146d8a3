// Package scoring decides which model server gets a request. It compiles an EndpointPickerConfig into a Plan; a Cycle
// takes one request through the plan: profile handler, filters, the sum of clamp(score) x weight, picker.
//
// It knows no proxy and no host, and uses neither fmt nor reflection, so that the same code decides in Envoy (compiled
// by TinyGo), in `pintle explain`, and in tests, and may be imported by others.
//
// The plug-ins stand in the folders beside this file, one file each; registry lists them.
package scoring
