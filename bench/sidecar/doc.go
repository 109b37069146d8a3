// Command sidecar measures what it costs to know the load of many model servers: processor time, memory, and how long a
// change takes to reach Envoy's ingest listener, or how many never did before the next one.
//
// The servers are listeners of this process that answer every GET with a page of vLLM metrics, most of it histograms,
// as real ones have them. Their load changes twice a second, so that nobody may take them for idle; -idle has it stay
// at nothing. The sidecar runs as a process of its own and pushes to a listener here. With -peer another program
// scrapes the same pages next, one after the other as the machine may be small: it is given the arguments after -- with
// {ports} replaced by FIRST-LAST.
//
// Processor time is read from /proc, so this runs on Linux only.
package main
