// Package salts are the plug-ins that keep prompts apart in the servers' caches.
//
// Each plug-in is one file named after its type. The comment on its type is its user documentation.
package salts
