package hostcalls

import (
	"math/rand/v2"
	"testing"
)

// numbered is a stream that knows its number, and the plug-in that makes such.
type numbered struct {
	DefaultStream
	id uint32
}

type numberedPlugin struct{}

func (numberedPlugin) Start([]byte) error         { return nil }
func (numberedPlugin) NewStream(id uint32) Stream { return &numbered{id: id} }
func (numberedPlugin) Tick()                      {}
func (numberedPlugin) Stop()                      {}

func newContexts() *contexts {
	c := &contexts{newPlugin: func() Plugin { return numberedPlugin{} }}
	c.create(1, 0)
	c.create(2, 0)
	return c
}

// TestContexts compares with a map, while streams come and go: most end soon, some stay until their place is wanted by
// others.
func TestContexts(t *testing.T) {
	c, live, random := newContexts(), map[uint32]uint32{}, rand.New(rand.NewPCG(1, 2))
	check := func(id uint32) {
		s, ok := c.find(id)
		plugin, want := live[id]
		if ok != want || ok && (s.stream.(*numbered).id != id || s.plugin.id != plugin) {
			t.Fatalf("stream %d: got %+v, %v, want one of plug-in %d: %v", id, s, ok, plugin, want)
		}
	}
	for id := uint32(3); id < 8*uint32(len(c.places)); id++ {
		plugin := 1 + id%2
		c.create(id, plugin)
		live[id] = plugin
		if c.enter(id); c.active.id != plugin {
			t.Fatalf("stream %d: got plug-in %d active, want %d", id, c.active.id, plugin)
		}
		if random.IntN(100) > 0 {
			c.remove(id)
			delete(live, id)
		}
		for range 3 {
			check(3 + random.Uint32N(id))
		}
		if random.IntN(300) == 0 {
			for old := range live {
				c.remove(old)
				delete(live, old)
				check(old)
				break
			}
		}
	}
	for id := range live {
		check(id)
		c.remove(id)
	}
	if len(c.others) != 0 {
		t.Errorf("got %d streams left, want none", len(c.others))
	}
}

func TestPluginsEnd(t *testing.T) {
	c := newContexts()
	first := c.enterPlugin(1)
	c.remove(1)
	if c.plugin(1) != nil || c.plugin(2) == nil {
		t.Errorf("got plug-ins %v, want the second alone", c.plugins)
	}
	if p := c.enterPlugin(2); p == first || p.id != 2 {
		t.Errorf("got %+v, want the second plug-in", p)
	}
	for name, callback := range map[string]func(){
		"stream": func() { c.enter(7) }, "plug-in": func() { c.enterPlugin(1) },
		"plug-in of a stream": func() { c.create(8, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: got no panic for an unknown one, want one", name)
				}
			}()
			callback()
		}()
	}
}

// TestAnswered: an answer goes to who asked, once, unless the stream that asked is gone.
func TestAnswered(t *testing.T) {
	p, got := newContexts().plugin(1), []string{}
	pending := func(name string, stream uint32) pendingCall {
		return pendingCall{stream: stream, done: func(a Answer) {
			if got = append(got, name); a.Status != 0 || a.Body != nil {
				t.Errorf("%s: got %+v, want no answer's contents", name, a)
			}
		}}
	}
	p.calls[7], p.calls[8] = pending("plug-in", 0), pending("stream that is gone", 99)
	for _, token := range []uint32{6, 7, 8, 7} {
		p.answered(token, 0, 0)
	}
	if len(got) != 1 || got[0] != "plug-in" || len(p.calls) != 0 {
		t.Errorf("got answers for %v and %d calls left, want plug-in alone and none", got, len(p.calls))
	}
}

// TestUnreadableConfiguration: a host that does not give the configuration gets no plug-in.
func TestUnreadableConfiguration(t *testing.T) {
	if newContexts().plugin(1).configure() {
		t.Error("got a plug-in without a configuration, want none")
	}
}

// TestContextsAllocateNothing: what a stream needs is there already.
func TestContextsAllocateNothing(t *testing.T) {
	c, id := newContexts(), uint32(100)
	stream := Stream(&numbered{})
	c.plugin(1).Plugin = fixedPlugin{stream}
	if n := testing.AllocsPerRun(100, func() {
		id++
		c.create(id, 1)
		c.enter(id)
		c.remove(id)
	}); n != 0 {
		t.Errorf("got %v allocations for a stream, want none", n)
	}
}

// fixedPlugin has one stream.
type fixedPlugin struct{ stream Stream }

func (fixedPlugin) Start([]byte) error        { return nil }
func (p fixedPlugin) NewStream(uint32) Stream { return p.stream }
func (fixedPlugin) Tick()                     {}
func (fixedPlugin) Stop()                     {}
