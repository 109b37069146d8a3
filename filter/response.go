package main

import "github.com/pintle-dev/pintle/hostcalls"

// OnHttpResponseHeaders implements hostcalls.Stream. Response bodies pass through unbuffered.
func (s *stream) OnHttpResponseHeaders(int, bool) hostcalls.Action {
	if s.explain != "" {
		s.check(hostcalls.SetResponseHeader(headerExplain, s.explain))
	}
	return hostcalls.Continue
}
