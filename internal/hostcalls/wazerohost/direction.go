package wazerohost

// body is a piece of a body that filters may change in place.
type body struct{ bytes []byte }

func (b *body) len() int {
	if b == nil {
		return 0
	}
	return len(b.bytes)
}

// iteration says how far the plug-in has stopped a direction of a stream.
type iteration int

const (
	running       iteration = iota
	stoppedSingle           // what has come is held; the next frame still reaches the plug-in
	stoppedAll              // nothing reaches the plug-in until it resumes
)

// Actions that callbacks answer with.
const (
	actionContinue = 0
	actionPause    = 1
)

// sink takes what leaves the plug-in.
type sink interface {
	passHeaders(end bool)
	passData(data []byte, end bool)
	passTrailers()
}

// direction is the plug-in's place in the decoding or encoding filter chain of a stream: what Envoy's filter manager
// and Wasm context keep (source/common/http/filter_manager.cc, source/extensions/common/wasm/context.cc), in one.
type direction struct {
	stream  *Stream
	request bool
	out     sink

	headers, trailers *headerMap // as far as they have come
	// What host calls reach. Envoy clears the headers when the header callback lets them go on, not when a later
	// callback does.
	visibleHeaders, visibleTrailers *headerMap

	iteration        iteration
	headersContinued bool
	buffered         *body // what is held
	buffering        bool  // the last body callback paused: body reads and edits reach buffered
	resumedEarly     bool  // resumed by a host call, out of a body pause, before the end of the body
	frame            *body // what body reads and edits reach otherwise
	complete         bool  // everything has come
	received         int   // bytes of the body that have come
	filterEnded      bool  // the plug-in has seen the end
	inCallback       bool
	inBody           bool
	aborted          bool // a local reply has taken over
}

func (d *direction) name() string {
	if d.request {
		return "request"
	}
	return "response"
}

// call runs a callback of this direction. ok is false when the stream is over for this direction: the VM died, or a
// local reply was sent.
func (d *direction) call(phase string, args ...uint64) (action uint64, ok bool) {
	s := d.stream
	if !d.request && s.failed {
		d.inCallback = false
		return actionContinue, true // the 503 for a dead VM passes without it
	}
	stopped := false
	if s.vm.failed == nil {
		action, stopped = s.vm.callback(s.context, "proxy_on_"+d.name()+"_"+phase,
			append([]uint64{uint64(s.context.id)}, args...)...)
	}
	if s.vm.failed != nil {
		s.fail()
		stopped = true
	}
	d.inCallback = false
	if prepared := s.prepared; prepared != nil {
		s.prepared = nil
		s.sendReply(*prepared)
	}
	if stopped || s.ended || d.aborted {
		return 0, false
	}
	if action > actionPause {
		s.vm.violate("proxy_on_%s_%s answered %d; only continue (0) and pause (1) are modelled", d.name(), phase,
			action)
	}
	return action, true
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (d *direction) receiveHeaders(m *headerMap, end bool) {
	d.headers, d.visibleHeaders = m, m
	d.complete, d.filterEnded = end, end
	d.inCallback = true
	action, ok := d.call("headers", uint64(len(m.fields)), flag(end))
	switch {
	case !ok:
		d.iteration = stoppedAll
	case action == actionContinue:
		d.visibleHeaders = nil
		d.headersContinued = true
		d.out.passHeaders(end)
	case d.stream.vm.host.opts.AllowOnHeadersStopIteration:
		d.iteration = stoppedSingle
	default:
		d.iteration = stoppedAll
	}
}

func (d *direction) receiveData(data []byte, end bool) {
	if d.stream.ended || d.aborted {
		return
	}
	d.complete = end
	d.received += len(data)
	b := &body{append([]byte{}, data...)}
	if d.iteration == stoppedAll {
		// Flow control holds the peer back here; there is no limit to run into.
		d.merge(b)
		return
	}
	d.deliver(b, end)
}

// deliver hands the plug-in one frame, or what was held while everything was stopped.
func (d *direction) deliver(b *body, end bool) {
	if d.filterEnded {
		return
	}
	s := d.stream
	d.inCallback = true
	if d.buffering {
		if d.resumedEarly {
			s.vm.violate("a %s body frame comes after the plug-in resumed out of a body pause: envoy versions before "+
				"the patch releases of August 2026 lose it", d.name())
		}
		d.hold(b)
	}
	d.frame = b
	d.filterEnded = end
	size := b.len()
	if d.buffering {
		size = d.buffered.len()
	}
	d.inBody = true
	action, ok := d.call("body", uint64(size), flag(end))
	d.inBody = false
	if !ok {
		return
	}
	d.buffering = action == actionPause
	if action == actionPause {
		if s.upstream.holding && len(s.upstream.held) > 0 && d.request {
			s.vm.violate("the plug-in pauses the body after it let a part go on to the buffer filter: both then hold " +
				"the same buffer")
		}
		d.iteration = stoppedSingle
		d.hold(b)
		return
	}
	d.frame = nil
	if d.iteration == stoppedSingle {
		d.hold(b)
		if !s.ended && !d.aborted {
			d.proceed()
		}
		return
	}
	if d.buffered == b {
		d.buffered = nil
	}
	d.out.passData(b.bytes, end)
}

func (d *direction) receiveTrailers(m *headerMap) {
	if d.stream.ended || d.aborted {
		return
	}
	d.trailers, d.complete = m, true
	if d.iteration != stoppedAll {
		d.deliverTrailers()
	}
}

func (d *direction) deliverTrailers() {
	d.visibleTrailers = d.trailers
	d.inCallback = true
	action, ok := d.call("trailers", uint64(len(d.trailers.fields)))
	if !ok {
		return
	}
	d.filterEnded = true
	switch {
	case action == actionPause:
		if d.iteration == running {
			d.iteration = stoppedSingle
		}
	case d.iteration == stoppedSingle:
		d.visibleTrailers = nil
		d.proceed()
	default:
		d.visibleTrailers = nil
		d.out.passTrailers()
	}
}

// merge adds b to what is held, which empties b: both then stand for the same bytes.
func (d *direction) merge(b *body) {
	if d.buffered == b {
		return
	}
	if d.buffered == nil {
		d.buffered = &body{}
	}
	d.buffered.bytes = append(d.buffered.bytes, b.bytes...)
	b.bytes = nil
}

// hold is merge under the buffer limit: past it the stream is answered with 413 or, for a response, 500.
func (d *direction) hold(b *body) {
	d.merge(b)
	d.stream.checkLimit(d, d.buffered.len())
}

// proceed lets go on what is held. Out of a complete stop, bodies and trailers reach the plug-in first.
func (d *direction) proceed() {
	s := d.stream
	fromHere := d.iteration == stoppedAll
	d.iteration = running
	if !d.headersContinued {
		d.headersContinued = true
		d.out.passHeaders(d.complete && d.buffered == nil && d.trailers == nil)
	}
	if b := d.buffered; b != nil && !s.ended && !d.aborted {
		end := d.complete && d.trailers == nil
		if fromHere {
			d.deliver(b, end)
		} else {
			d.buffered = nil
			d.out.passData(b.bytes, end)
		}
	}
	if d.trailers == nil || s.ended || d.aborted {
		return
	}
	if fromHere {
		d.deliverTrailers()
	} else {
		d.out.passTrailers()
	}
}
