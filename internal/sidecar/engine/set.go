package engine

import "slices"

// Set is the engines that a sidecar knows. It never changes.
type Set []*Engine

// Known are the engines that need no configuration.
var Known = Set{vllm, sglang, trtllm, triton}

// aliases are other names of known engines, as other projects' labels have them.
var aliases = map[string]string{
	"trtllm-serve": "trtllm", "tensorrt-llm": "trtllm", "triton-tensorrt-llm": "triton", "triton-trtllm": "triton",
}

// ByName returns the engine of that name or alias, or nil.
func (s Set) ByName(name string) *Engine {
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	for _, e := range s {
		if e.name == name {
			return e
		}
	}
	return nil
}

// Prefer returns s with the engine of that name first, where detection begins.
func (s Set) Prefer(name string) Set {
	i := slices.IndexFunc(s, func(e *Engine) bool { return e.name == name })
	if i <= 0 {
		return s
	}
	return append(Set{s[i]}, slices.Delete(slices.Clone(s), i, i+1)...)
}

// Names returns the engines' names.
func (s Set) Names() []string {
	names := make([]string, len(s))
	for i, e := range s {
		names[i] = e.name
	}
	return names
}

// Page is where a server may have its page; Port 0 is the endpoint's own.
type Page struct {
	Path string
	Port uint16
}

// Pages returns each place at which one of the engines has its page, once.
func (s Set) Pages() []Page {
	var pages []Page
	for _, e := range s {
		if page := (Page{e.path, e.port}); !slices.Contains(pages, page) {
			pages = append(pages, page)
		}
	}
	return pages
}

// Detect returns the first engine whose load is on page, or nil.
func (s Set) Detect(page []byte) *Engine {
	for _, e := range s {
		var ignored Sample
		if NewParser(e).Parse(page, &ignored).HasLoad() {
			return e
		}
	}
	return nil
}
