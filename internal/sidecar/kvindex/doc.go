// Package kvindex knows which model server holds which blocks of KV cache, by what their events say (package kvevents).
//
// A block is known by its Key, which is computed from its tokens and all tokens before it. Engines name blocks by
// hashes of their own; those are kept beside the keys for each publisher, because later events name nothing else. A
// publisher is one rank of one endpoint.
package kvindex
