// Command overhead measures what Pintle costs: three Envoys with the same servers behind them, one without Pintle and
// one for each way to hold a request, under the same load in turns. The load generator is wrk.
//
// Beside requests per second it tells the processor time that Envoy uses for a request. That depends less on what else
// the machine does, as client, Envoys and servers share its processors.
package main
