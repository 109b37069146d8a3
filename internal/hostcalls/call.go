package hostcalls

import "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

// Call is an HTTP request to one of Envoy's clusters.
type Call struct {
	// Cluster is the cluster's name.
	Cluster string
	// Headers must have :method, :path and :authority.
	Headers [][2]string
	Body    []byte
	// TimeoutMillis is how long Envoy waits for the whole answer. Then it answers 504 itself.
	TimeoutMillis uint32
}

// Answer is what came of a Call.
type Answer struct {
	// Status is 0 when the call was reset. A cluster that cannot be reached is a 503 of Envoy's, one too slow a 504.
	Status int
	// Body is valid during the callback only.
	Body []byte
}

// Dispatch sends a call on behalf of a stream. done is called once, later, in a callback of its own in which host calls
// are about that stream, unless the stream or the plug-in has ended before. An error means that nothing was sent: Envoy
// does not know the cluster, or a header is missing. b is where the answer's body is put.
func Dispatch(b *Buffer, stream uint32, c *Call, done func(Answer)) error {
	_, err := proxywasm.DispatchHttpCall(c.Cluster, c.Headers, c.Body, nil, c.TimeoutMillis,
		func(headers, size, _ int) {
			if proxywasm.SetEffectiveContext(stream) == nil {
				done(answerOf(b, headers, size))
			}
		})
	return err
}

// Send sends a call on behalf of the plug-in, whatever becomes of streams; else it is as Dispatch. To be called in
// Plugin.Tick, as the answer belongs to whose callback it is that asks.
func Send(b *Buffer, c *Call, done func(Answer)) error {
	_, err := proxywasm.DispatchHttpCall(c.Cluster, c.Headers, c.Body, nil, c.TimeoutMillis,
		func(headers, size, _ int) { done(answerOf(b, headers, size)) })
	return err
}

func answerOf(b *Buffer, headers, size int) (a Answer) {
	if headers == 0 {
		return a
	}
	all, err := proxywasm.GetHttpCallResponseHeaders()
	if err != nil {
		return a
	}
	for _, h := range all {
		if h[0] != ":status" {
			continue
		}
		for i := range len(h[1]) {
			a.Status = a.Status*10 + int(h[1][i]-'0')
		}
	}
	if size > 0 {
		lend(b)
		a.Body, _ = proxywasm.GetHttpCallResponseBody(0, size)
		reclaim()
	}
	return a
}

// Enter makes host calls be about a stream, in a callback that is about none, such as Plugin.Tick.
func Enter(stream uint32) error { return proxywasm.SetEffectiveContext(stream) }

// ResumeRequest lets a request go on that a callback answered Pause for. Not to be called in a callback of that
// request.
func ResumeRequest() error { return proxywasm.ResumeHttpRequest() }
