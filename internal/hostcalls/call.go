package hostcalls

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
	return c.send(stream, func(headers, size int) {
		if Enter(stream) == nil {
			done(answerOf(b, headers, size))
		}
	})
}

// Send sends a call on behalf of the plug-in, whatever becomes of streams; else it is as Dispatch. To be called in
// Plugin.Tick, as the answer belongs to whose callback it is that asks.
func Send(b *Buffer, c *Call, done func(Answer)) error {
	return c.send(0, func(headers, size int) { done(answerOf(b, headers, size)) })
}

func (c *Call) send(owner uint32, done func(headers, size int)) error {
	call, status := httpCall(c.Cluster, appendFields(nil, c.Headers), c.Body, c.TimeoutMillis)
	if status == statusOK {
		theContexts.calls[call] = waiting{owner, done}
	}
	return failure(status)
}

func answerOf(b *Buffer, headers, size int) (a Answer) {
	if headers == 0 {
		return a
	}
	all, ok := readFields(b, nil, callHeaders)
	if !ok {
		return a
	}
	for _, h := range all {
		if h.Name != ":status" {
			continue
		}
		for i := range len(h.Value) {
			a.Status = a.Status*10 + int(h.Value[i]-'0')
		}
	}
	if size > 0 {
		a.Body, _ = bufferBytes(b, callBody, 0, size)
	}
	return a
}

// Enter makes host calls be about a stream, in a callback that is about none, such as Plugin.Tick.
func Enter(stream uint32) error { return failure(setEffectiveContext(stream)) }

// ResumeRequest lets a request go on that a callback answered Pause for. Not to be called in a callback of that
// request.
func ResumeRequest() error { return failure(continueRequest()) }
