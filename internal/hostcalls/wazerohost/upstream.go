package wazerohost

import "strconv"

// upstream is what stands behind the plug-in on the way of the request: the stock buffer filter, the stock
// header_mutation filter, the router.
type upstream struct {
	stream  *Stream
	holding bool // the buffer filter holds the headers
	held    []byte

	sent     bool
	complete bool
	headers  Headers
	body     []byte
	trailers Headers
}

// passHeaders: the buffer filter (source/extensions/filters/http/buffer/buffer_filter.cc) lets a request without a body
// pass at once.
func (u *upstream) passHeaders(end bool) {
	if u.stream.vm.host.opts.BufferFilter && !end {
		u.holding = true
		return
	}
	u.route(end)
}

func (u *upstream) passData(data []byte, end bool) {
	if !u.holding {
		u.send(data, end)
		return
	}
	u.held = append(u.held, data...)
	u.stream.checkLimit(&u.stream.request, 0)
	if end && !u.stream.request.aborted {
		u.release(true)
	}
}

func (u *upstream) passTrailers() {
	if u.holding {
		u.release(false)
	}
	u.trailers = u.stream.request.trailers.fields.clone()
	u.finish()
}

// release lets headers and body go on, with a content-length if the client had sent none.
func (u *upstream) release(end bool) {
	u.holding = false
	headers := u.stream.request.headers
	if _, ok := headers.get("content-length"); !ok {
		headers.add("content-length", strconv.Itoa(len(u.held)))
	}
	u.route(false)
	held := u.held
	u.held = nil
	u.send(held, end)
}

// route applies the header mutations and hands the headers to the router.
func (u *upstream) route(end bool) {
	s := u.stream
	for _, mutation := range s.vm.host.opts.HeaderMutations {
		if mutation.Remove {
			s.request.headers.remove(mutation.Header)
		}
		if state, ok := s.filterState[mutation.FilterState]; ok && state.Value != "" {
			s.request.headers.set(mutation.Header, state.Value)
		}
	}
	u.sent = true
	u.headers = s.request.headers.fields.clone()
	if end {
		u.finish()
	}
}

func (u *upstream) send(data []byte, end bool) {
	u.body = append(u.body, data...)
	if end {
		u.finish()
	}
}

func (u *upstream) finish() {
	u.complete = true
	announced := u.headers.Get("content-length")
	if announced != "" && announced != strconv.Itoa(len(u.body)) {
		u.stream.vm.violate("the request leaves with content-length %s and a body of %d bytes: the server would wait "+
			"or answer 400", announced, len(u.body))
	}
}
