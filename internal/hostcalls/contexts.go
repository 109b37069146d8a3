package hostcalls

// contexts are the plug-ins and streams of the VM, by the numbers by which the host knows them, and who waits for the
// answers to HTTP calls. The host's callbacks arrive here.
type contexts struct {
	newPlugin func() Plugin
	plugins   map[uint32]Plugin
	streams   map[uint32]Stream
	calls     map[uint32]waiting
}

// waiting is who waits for the answer to an HTTP call. owner is the stream that has asked, 0 for a plug-in.
type waiting struct {
	owner uint32
	done  func(headers, size int)
}

var theContexts = newContexts()

func newContexts() *contexts {
	return &contexts{plugins: map[uint32]Plugin{}, streams: map[uint32]Stream{}, calls: map[uint32]waiting{}}
}

// create enters a plug-in, or a stream of the plug-in.
func (c *contexts) create(id, plugin uint32) {
	if plugin == 0 {
		c.plugins[id] = c.newPlugin()
		return
	}
	c.streams[id] = c.plugins[plugin].NewStream(id)
}

// ended tells a stream that it has come to its end.
func (c *contexts) ended(id uint32) {
	s, ok := c.streams[id]
	if !ok {
		return
	}
	delete(c.streams, id)
	s.OnHttpStreamDone()
}

// drop forgets a stream or a plug-in, and what it waits for: the host gives a call up with the stream that made it.
func (c *contexts) drop(id uint32) {
	if len(c.calls) > 0 {
		c.dropCalls(id)
	}
	if p, ok := c.plugins[id]; ok {
		p.Stop()
		delete(c.plugins, id)
		return
	}
	delete(c.streams, id)
}

func (c *contexts) dropCalls(owner uint32) {
	for call, w := range c.calls {
		if w.owner == owner {
			delete(c.calls, call)
		}
	}
}

// answered takes the answer to a call.
func (c *contexts) answered(call uint32, headers, size int) {
	w, ok := c.calls[call]
	if !ok {
		return
	}
	delete(c.calls, call)
	w.done(headers, size)
}
