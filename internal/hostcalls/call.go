package hostcalls

import "unsafe"

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
	// Status is 0 when the call was reset. A server that cannot be reached is a 503 of Envoy's, one too slow a 504.
	Status int
	// Body is valid during the callback only.
	Body []byte
}

// pendingCall is a call that has no answer yet. stream is on whose behalf it was sent, 0 for the plug-in's.
type pendingCall struct {
	buffer *Buffer
	stream uint32
	done   func(Answer)
}

// Dispatch sends a call on behalf of a stream. done is called once, later, in a callback of its own in which host calls
// are about that stream, unless the stream or the plug-in has ended before. An error means that nothing was sent: Envoy
// does not know the cluster, knows no server of it or has no room for another request to it, or a header is missing. b
// is where the answer's body is put.
func Dispatch(b *Buffer, stream uint32, c *Call, done func(Answer)) error {
	return dispatch(c, pendingCall{b, stream, done})
}

// Send sends a call on behalf of the plug-in, whatever becomes of streams; else it is as Dispatch. To be called in
// Plugin.Tick, as the answer belongs to whose callback it is that asks.
func Send(b *Buffer, c *Call, done func(Answer)) error { return dispatch(c, pendingCall{b, 0, done}) }

func dispatch(c *Call, pending pendingCall) error {
	cluster, clusterSize := textAt(c.Cluster)
	headers, headersSize := bytesAt(encodePairs(c.Headers))
	trailers, trailersSize := bytesAt(encodePairs(nil))
	body, bodySize := bytesAt(c.Body)
	token := new(uint32)
	if s := proxyHTTPCall(cluster, clusterSize, headers, headersSize, body, bodySize, trailers, trailersSize,
		c.TimeoutMillis, unsafe.Pointer(token)); s != success {
		return s
	}
	vm.active.calls[*token] = pending
	return nil
}

// answered hands the answer to a call to who waits for it, if that is still there.
func (p *pluginContext) answered(token uint32, headers, size int) {
	call, ok := p.calls[token]
	if !ok {
		return
	}
	delete(p.calls, token)
	if call.stream != 0 {
		if _, ok := vm.find(call.stream); !ok || Enter(call.stream) != nil {
			return
		}
	}
	call.done(answerOf(call.buffer, headers, size))
}

func answerOf(b *Buffer, headers, size int) (a Answer) {
	if headers == 0 {
		return a
	}
	fields, ok := headerFields(&Buffer{}, callHeaders, nil)
	if !ok {
		return a
	}
	for _, f := range fields {
		if f.Name != ":status" {
			continue
		}
		for i := range len(f.Value) {
			a.Status = a.Status*10 + int(f.Value[i]-'0')
		}
	}
	if size > 0 {
		lend(b)
		a.Body, _ = buffer(callBody, 0, size)
		reclaim()
	}
	return a
}

// Enter makes host calls be about a stream, in a callback that is about none, such as Plugin.Tick.
func Enter(stream uint32) error { return proxySetEffectiveContext(stream).err() }

// Leave makes host calls be about the plug-in again whose callback it is: after Enter even calls and timers would be
// those of the stream's plug-in.
func Leave() { _ = proxySetEffectiveContext(vm.active.id) }

// ResumeRequest lets a request go on that a callback answered Pause for. Not to be called in a callback of that
// request.
func ResumeRequest() error {
	const request = 0
	return proxyContinueStream(request).err()
}
