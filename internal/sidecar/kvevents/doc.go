// Package kvevents listens to what model servers say of their caches: it takes the KV events that vLLM and SGLang
// publish by ZeroMQ into the index (package kvindex).
//
// Events are numbered. What was missed is asked for again where the engine offers it; where it does not, what was
// known of the publisher is forgotten, because nobody knows what it still holds. A publisher that is broken or hostile
// costs bounded memory and time, and touches nothing but its own endpoint's entries.
package kvevents
