// Command decisions times pieces of a decision natively, in Wasm on wazero's compiler and, where there is a node, on
// V8, which is what Envoy runs modules on. Wasm is TinyGo's, built as the filter is.
package main
