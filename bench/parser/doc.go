// Command parser compares how package openai and Python's json module, by which most model servers read requests, take
// the same bodies: which they refuse, and what they read. Bodies are generated, most of them with some bytes changed; a
// seed makes them the same again.
package main
