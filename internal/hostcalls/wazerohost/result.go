package wazerohost

import "slices"

// The accessors below copy; they may be called at any time.

// Sent tells whether the request's headers have reached the router, which picks the host then.
func (s *Stream) Sent() bool { return locked(s, func() bool { return s.upstream.sent }) }

// Complete tells whether the whole request has gone upstream.
func (s *Stream) Complete() bool { return locked(s, func() bool { return s.upstream.complete }) }

// UpstreamHeaders are the request's headers as the router got them, after the buffer filter and the header mutations.
// What the router itself and the connection manager add (x-request-id, x-forwarded-proto and the like) is not modelled.
// nil until sent.
func (s *Stream) UpstreamHeaders() Headers {
	return locked(s, func() Headers { return s.upstream.headers.clone() })
}

// UpstreamBody is the request's body as far as it has gone upstream.
func (s *Stream) UpstreamBody() []byte {
	return locked(s, func() []byte { return slices.Clone(s.upstream.body) })
}

// UpstreamTrailers are the request's trailers once they have gone upstream.
func (s *Stream) UpstreamTrailers() Headers {
	return locked(s, func() Headers { return s.upstream.trailers.clone() })
}

// ResponseHeaders are those that the client got, of the server's response or of a local reply; nil before.
func (s *Stream) ResponseHeaders() Headers {
	return locked(s, func() Headers { return s.downstream.headers.clone() })
}

// ResponseBody is the body that the client got so far.
func (s *Stream) ResponseBody() []byte {
	return locked(s, func() []byte { return slices.Clone(s.downstream.body) })
}

// ResponseTrailers are those that the client got.
func (s *Stream) ResponseTrailers() Headers {
	return locked(s, func() Headers { return s.downstream.trailers.clone() })
}

// LocalReply is the response that Envoy made itself: for the plug-in, for a dead VM (503) or for a body over the limit
// (413). nil when there was none.
func (s *Stream) LocalReply() *Reply {
	return locked(s, func() *Reply {
		if s.local == nil {
			return nil
		}
		reply := *s.local
		return &reply
	})
}

// Ended tells whether the stream is over and its context deleted.
func (s *Stream) Ended() bool { return locked(s, func() bool { return s.ended }) }

// WasReset tells whether it ended by a reset: Abort, or a failure after the response's headers had gone.
func (s *Stream) WasReset() bool { return locked(s, func() bool { return s.reset }) }

// Callbacks lists the callbacks made for this stream in order, without "proxy_on_": "context_create",
// "request_headers", ...
func (s *Stream) Callbacks() []string {
	return locked(s, func() []string { return slices.Clone(s.callbacks) })
}

// RouteCacheClears counts the calls of clear_route_cache.
func (s *Stream) RouteCacheClears() int { return locked(s, func() int { return s.routeClears }) }

// FilterState returns what is stored under a key, "wasm.NAME" for the property NAME.
func (s *Stream) FilterState(key string) (FilterState, bool) {
	var ok bool
	state := locked(s, func() (state FilterState) { state, ok = s.filterState[key]; return state })
	return state, ok
}

// Property returns what the plug-in stored with SetProperty([]string{name}, ...), or "".
func (s *Stream) Property(name string) string {
	state, _ := s.FilterState("wasm." + name)
	return state.Value
}

// SetProperty sets a property of the stream by its dotted path; see Options.Properties.
func (s *Stream) SetProperty(path string, value []byte) {
	locked(s, func() bool { s.properties[path] = value; return true })
}

// SetServer sets the address of the model server that answers, for upstream.address and upstream.port. Without it the
// address is the OriginalDst filter state, if set.
func (s *Stream) SetServer(address string) {
	locked(s, func() bool { s.serverAddress = address; return true })
}

// Stuck tells that the plug-in holds the request or the response and that nothing under way will make it let go: no
// further frame reaches it, and no HTTP call of its waits for an answer. Only a timer could still help.
func (s *Stream) Stuck() bool {
	return locked(s, func() bool {
		if s.ended || s.waiting() {
			return false
		}
		for _, d := range []*direction{&s.request, &s.response} {
			if d.headers != nil && !d.aborted &&
				(d.iteration == stoppedAll || d.iteration == stoppedSingle && d.complete) {
				return true
			}
		}
		return false
	})
}

func locked[T any](s *Stream, f func() T) T {
	s.plugin.worker.mu.Lock()
	defer s.plugin.worker.mu.Unlock()
	return f()
}
