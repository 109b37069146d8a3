package replay

import (
	"slices"

	"github.com/pintle-dev/pintle/scoring"
)

// adapters are the LoRA adapters that a server has loaded, by their places in Servers.Adapters, from 1 on. A server
// loads one when a request for it is admitted, in the place of the one that was used longest ago.
type adapters struct {
	most   int
	loaded []loadedAdapter // the one that was used last comes last
}

type loadedAdapter struct{ adapter, running int }

// noAdapter is the adapter of a request for a base model.
const noAdapter = 0

// room reports whether a request for an adapter can run: where it is loaded, or may take the place of another one.
func (a *adapters) room(adapter int) bool {
	return adapter == noAdapter || len(a.loaded) < a.most ||
		slices.ContainsFunc(a.loaded, func(l loadedAdapter) bool { return l.adapter == adapter || l.running == 0 })
}

// take notes that a request for an adapter for which there is room runs, and reports whether it has to be loaded.
func (a *adapters) take(adapter int) (loads bool) {
	if adapter == noAdapter {
		return false
	}
	l := loadedAdapter{adapter: adapter}
	at := a.find(adapter)
	if loads = at < 0; loads && len(a.loaded) == a.most {
		at = slices.IndexFunc(a.loaded, func(l loadedAdapter) bool { return l.running == 0 })
	}
	if at >= 0 {
		if !loads {
			l = a.loaded[at]
		}
		a.loaded = slices.Delete(a.loaded, at, at+1)
	}
	l.running++
	a.loaded = append(a.loaded, l)
	return loads
}

// release notes that a request for an adapter has ended.
func (a *adapters) release(adapter int) {
	if at := a.find(adapter); at >= 0 {
		a.loaded[at].running--
	}
}

func (a *adapters) find(adapter int) int {
	return slices.IndexFunc(a.loaded, func(l loadedAdapter) bool { return l.adapter == adapter })
}

// tell writes what the server's metrics say of adapters.
func (s *server) tell(m *scoring.Metrics) {
	m.RunningLoRA, m.WaitingLoRA = m.RunningLoRA[:0], m.WaitingLoRA[:0]
	if len(s.Adapters) == 0 {
		return
	}
	m.MaxLoRA = s.MaxAdapters
	for _, l := range s.adapters.loaded {
		if l.running > 0 {
			m.RunningLoRA = append(m.RunningLoRA, uint16(l.adapter-1))
		}
	}
	for i := range s.waiting.len() {
		a := s.waiting.at(i).adapter
		if a != noAdapter && !slices.Contains(m.WaitingLoRA, uint16(a-1)) {
			m.WaitingLoRA = append(m.WaitingLoRA, uint16(a-1))
		}
	}
}

// modelsOf are the models of servers with adapters: the base models that requests are for, and the adapters.
func modelsOf(requests []Request, adapters []string) []string {
	var base []string
	for i := range requests {
		if m := requests[i].Model; m != "" && !slices.Contains(base, m) && !slices.Contains(adapters, m) {
			base = append(base, m)
		}
	}
	if len(base) == 0 {
		base = append(base, "base") // servers have one, whether or not it is asked for
	}
	slices.Sort(base)
	return append(base, adapters...)
}
