// Package wazerohost runs a compiled proxy-wasm module in wazero and answers it as strictly as Envoy 1.40 does, so that
// a unit test of a filter sees what a gateway would see. It is for tests only.
//
//	host, err := wazerohost.New(ctx, wasm, wazerohost.Options{BufferFilter: true, Fail: func(m string) { t.Error(m) }})
//	worker, err := host.Worker()                                   // a worker thread and its VM
//	plugin, err := worker.Start(wazerohost.PluginConfig{Configuration: `{...}`})
//	s := plugin.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
//	s.Body([]byte(`{"model":"m"}`), true)
//	s.UpstreamHeaders(); s.FilterState(wazerohost.OriginalDst)     // what left for the model server
//	s.Respond(wazerohost.Headers{{"content-type", "application/json"}}, false)
//	s.RespondBody(body, true)                                      // the end: log, done, delete
//
// Fail is told of what Envoy would punish without a status code; a test that sets it to t.Error cannot miss it. Fail
// and Log must not call back into the host.
//
// # What is modelled
//
// The sources are Envoy's source/extensions/common/wasm/context.cc and foreign.cc,
// source/common/http/filter_manager.cc, source/extensions/filters/common/expr/context.cc, and proxy-wasm-cpp-host's
// src/{exports,context,wasm,shared_data}.cc.
//
//   - Headers. A map can be edited from the header callback until that callback lets it go on; from then on edits
//     and reads of single headers are refused with BadArgument, and reads of all headers answer nothing. Envoy does not
//     take the map away when the header callback paused and a later one continues: such an edit is lost, and a
//     violation here. A resume by a host call, of either direction, takes the request's map away. In the log phase both
//     maps can be read.
//   - Pauses. A Pause in the header phase stops everything, unless AllowOnHeadersStopIteration. Resuming out of
//     that hands the plug-in the body first. A Pause in the body phase holds what has come; the next callback sees all
//     of it. Stream.Stuck finds what hangs.
//   - Bodies. A read outside the buffer answers OK and nothing (the SDK makes NotFound of it). Edits replace the
//     first bytes, none to all, or append. With trailers no body callback sees the end of the stream.
//   - Limits. Past the buffer limit a request is answered with 413, a response with 500.
//   - Local replies pass through the plug-in's own response callbacks, except those sent from them.
//   - Ends. OnLog, OnDone, OnDelete, in this order, whether the stream completed, was aborted or got a local reply.
//   - Traps. The VM is dead, its streams get 503 and no further callback; see Worker.Failed and Worker.Rebuild.
//   - Shared data, metrics and the stock filters behind the plug-in; see Options.
//   - Memory for results comes from the export malloc, else proxy_on_memory_allocate; during it the guest may log
//     and read the clock and nothing else. An empty result is a null pointer, without an allocation.
//   - Properties of the request that come from its headers are found only while the header map is. GetProperty of a
//     stored property looks at the first part of the path only.
//
// # What is a violation
//
// Resuming what is not paused, or from within a callback of the same direction; a further body frame after a resume out
// of a body pause; pausing again behind a buffer filter that holds a part; resuming or replying from a context that is
// no stream; a body that does not match its content-length; line breaks in headers; malformed header lists; filter
// state set with two spans; whatever is not modelled: queues, gRPC, DNS, statistics callbacks, network filters,
// poll_oneoff, adding trailers, the other foreign functions, unlisted properties of request and response. An import
// that is unknown is an error of New.
//
// # What is not modelled
//
// Headers that the connection manager and the router add, metadata, 1xx responses, upgrades, HEAD responses, retries,
// timeouts, fail_open, and the choice of a host.
package wazerohost
