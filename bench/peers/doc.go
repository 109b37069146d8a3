// Command peers measures Pintle beside what a user would run in its place: llm-d's router and AIBrix's gateway behind
// Envoy's ext_proc, the routers of SGLang and vLLM, smg, LiteLLM, and an Envoy that chooses by itself. All are before
// the same simulated servers, get the same requests from the same client, and take turns; the processor time is that of
// all processes that a peer needs.
//
//	make bench-peers ARGS='-sizes 2,16 -rounds 5'
//	make bench-peers ARGS='-workload conversation -fleet half -traces FOLDER'
//
// Peers from PyPI are installed on first use; for those in Go see install.sh. One that is not there is named in the
// report, and the others run.
package main
