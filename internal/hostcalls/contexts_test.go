package hostcalls

import (
	"slices"
	"testing"
)

// noted is a plug-in and its streams, which note what is called.
type noted struct{ calls []string }

func (p *noted) Start([]byte) error { return nil }
func (p *noted) Tick()              {}
func (p *noted) Stop()              { p.calls = append(p.calls, "stop") }
func (p *noted) NewStream(uint32) Stream {
	p.calls = append(p.calls, "stream")
	return notedStream{p}
}

type notedStream struct{ plugin *noted }

func (notedStream) OnHttpRequestHeaders(int, bool) Action  { return Continue }
func (notedStream) OnHttpRequestBody(int, bool) Action     { return Continue }
func (notedStream) OnHttpRequestTrailers(int) Action       { return Continue }
func (notedStream) OnHttpResponseHeaders(int, bool) Action { return Continue }
func (notedStream) OnHttpResponseBody(int, bool) Action    { return Continue }
func (notedStream) OnHttpResponseTrailers(int) Action      { return Continue }
func (s notedStream) OnHttpStreamDone()                    { s.plugin.calls = append(s.plugin.calls, "done") }

// TestContexts: each plug-in has its streams, an end is told once, and nothing is kept of what has ended.
func TestContexts(t *testing.T) {
	plugins := []*noted{{}, {}}
	made := 0
	c := newContexts()
	c.newPlugin = func() Plugin {
		made++
		return plugins[made-1]
	}
	answers := 0
	wait := func(call, owner uint32) { c.calls[call] = waiting{owner, func(int, int) { answers++ }} }
	c.create(1, 0)
	c.create(2, 0)
	c.create(3, 1)
	c.create(4, 2)
	c.create(5, 2)
	wait(7, 3)
	wait(8, 4)
	wait(9, 0)
	c.answered(8, 0, 0)
	c.answered(8, 0, 0)
	c.ended(3)
	c.ended(3)
	c.drop(3)
	c.answered(7, 0, 0)
	c.ended(4)
	c.drop(4)
	c.drop(5) // never logged
	c.drop(2)
	c.answered(9, 0, 0)
	if want := []string{"stream", "done"}; !slices.Equal(plugins[0].calls, want) {
		t.Errorf("the first plug-in: got %q, want %q", plugins[0].calls, want)
	}
	if want := []string{"stream", "stream", "done", "stop"}; !slices.Equal(plugins[1].calls, want) {
		t.Errorf("the second plug-in: got %q, want %q", plugins[1].calls, want)
	}
	if answers != 2 {
		t.Errorf("answers: got %d, want 2: one to a stream, one to a plug-in, none to a stream that has ended", answers)
	}
	if len(c.streams)+len(c.calls) != 0 || len(c.plugins) != 1 {
		t.Errorf("left: %d streams, %d calls and %d plug-ins, want none, none and one", len(c.streams), len(c.calls),
			len(c.plugins))
	}
}

// TestFieldsRoundTrip: what appendFields writes appendPairs reads.
func TestFieldsRoundTrip(t *testing.T) {
	for _, fields := range [][][2]string{nil, {{":status", "200"}}, {{"a", ""}, {"", "b"}, {"a", "c"}}} {
		got, ok := appendPairs(nil, appendFields(nil, fields))
		if !ok || len(got) != len(fields) {
			t.Fatalf("%q: got %q, %v", fields, got, ok)
		}
		for i, f := range fields {
			if got[i].Name != f[0] || got[i].Value != f[1] {
				t.Errorf("%q: got %q", fields, got)
			}
		}
	}
}
