package hostcalls

// vm is what runs in this module.
var vm contexts

// contexts are the plug-ins of a VM and their streams, by the host's numbers for them, none of which is 0. The zero
// value is ready.
type contexts struct {
	newPlugin func() Plugin
	plugins   []*pluginContext
	// active is the plug-in whose callback runs, or that of the stream whose callback runs.
	active *pluginContext
	// places hold most streams, others those whose place was taken. The host counts up, so that only streams which
	// last for long take a place from others.
	places [1 << 10]streamContext
	others map[uint32]streamContext
}

// pluginContext is a plug-in and what it has asked clusters, by the host's numbers for it.
type pluginContext struct {
	Plugin
	id    uint32
	calls map[uint32]pendingCall
}

// streamContext is a stream and its plug-in; id 0 is none.
type streamContext struct {
	id     uint32
	plugin *pluginContext
	stream Stream
}

// plugin returns the plug-in of a number, nil for none.
func (c *contexts) plugin(id uint32) *pluginContext {
	for _, p := range c.plugins {
		if p.id == id {
			return p
		}
	}
	return nil
}

// create begins a plug-in, or a stream of one.
func (c *contexts) create(id, plugin uint32) {
	if plugin == 0 {
		c.plugins = append(c.plugins, &pluginContext{Plugin: c.newPlugin(), id: id, calls: map[uint32]pendingCall{}})
		return
	}
	p := c.plugin(plugin)
	if p == nil {
		panic("a stream of an unknown plug-in begins")
	}
	made := streamContext{id: id, plugin: p, stream: p.NewStream(id)}
	if place := &c.places[id%uint32(len(c.places))]; place.id == 0 {
		*place = made
		return
	}
	if c.others == nil {
		c.others = map[uint32]streamContext{}
	}
	c.others[id] = made
}

// find returns the stream of a number; ok is false for none.
func (c *contexts) find(id uint32) (s streamContext, ok bool) {
	if place := &c.places[id%uint32(len(c.places))]; place.id == id {
		return *place, true
	}
	s, ok = c.others[id]
	return s, ok
}

// enter returns the stream that a callback is about.
func (c *contexts) enter(id uint32) Stream {
	s, ok := c.find(id)
	if !ok {
		panic("a callback is about an unknown stream")
	}
	c.active = s.plugin
	return s.stream
}

// enterPlugin returns the plug-in that a callback is about.
func (c *contexts) enterPlugin(id uint32) *pluginContext {
	c.active = c.plugin(id)
	if c.active == nil {
		panic("a callback is about an unknown plug-in")
	}
	return c.active
}

// remove forgets a stream or a plug-in.
func (c *contexts) remove(id uint32) {
	if place := &c.places[id%uint32(len(c.places))]; place.id == id {
		*place = streamContext{}
		return
	}
	if _, ok := c.others[id]; ok {
		delete(c.others, id)
		return
	}
	for i, p := range c.plugins {
		if p.id == id {
			c.active = p
			p.Stop()
			c.plugins = append(c.plugins[:i:i], c.plugins[i+1:]...)
			return
		}
	}
}
