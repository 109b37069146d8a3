// Package branchhints tells V8 which branches of a Wasm module are rarely taken, so that it moves what is behind them
// out of the way of what every request runs. It writes the section metadata.code.branch_hint of WebAssembly's Branch
// Hinting proposal, which V8 heeds and whoever does not know it skips. Nothing else of the module changes.
//
// Two things tell what is rare: code that leads nowhere but to unreachable, as panics do; and a Profile, which is what
// a module that counts its branches (Counting) saw while requests went through it.
package branchhints

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// hintsName is the name of the section of hints.
const hintsName = "metadata.code.branch_hint"

// Sections that matter here, by their numbers in WebAssembly's binary format.
const (
	sectionCustom   = 0
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionGlobal   = 6
	sectionExport   = 7
	sectionCode     = 10
)

// Module is a Wasm module in parts. It does not change, so several goroutines may use it.
type Module struct {
	sections  []section
	imports   int // functions that are imported, which are numbered first
	globals   int
	functions []function
}

type section struct {
	id      byte
	payload []byte
}

// function is one of the module's own.
type function struct {
	body   []byte
	params int
	// locals are those that it declares, in groups; code is where its instructions begin in body.
	locals, groups, code int
	instructions         []instruction
}

// Parse reads a module as TinyGo and LLVM write it: WebAssembly 2.0 without vectors and without imports but functions.
// It has to have globals and exports. Hints that it has already are left out. The module keeps wasm, which must not
// change.
func Parse(wasm []byte) (*Module, error) {
	if len(wasm) < 8 || string(wasm[:8]) != "\x00asm\x01\x00\x00\x00" {
		return nil, errors.New("not a wasm module of version 1")
	}
	m := &Module{}
	var params, types []int
	missing := map[byte]bool{sectionGlobal: true, sectionExport: true, sectionCode: true}
	r := reader{bytes: wasm, at: 8}
	for r.more() {
		s := section{id: r.byte()}
		s.payload = r.vector()
		if r.err != nil {
			return nil, r.err
		}
		p := reader{bytes: s.payload}
		switch s.id {
		case sectionCustom:
			if string(p.vector()) == hintsName && p.err == nil {
				continue
			}
			p.err = nil
		case sectionType:
			params = p.types()
		case sectionImport:
			m.imports = p.imports()
		case sectionFunction:
			types = p.numbers()
		case sectionGlobal:
			m.globals = p.uint()
		case sectionCode:
			m.functions = p.functions(params, types)
		}
		if p.err != nil {
			return nil, fmt.Errorf("section %d: %w", s.id, p.err)
		}
		m.sections = append(m.sections, s)
		delete(missing, s.id)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("sections %v are missing", slices.Sorted(maps.Keys(missing)))
	}
	return m, nil
}

// types returns how many parameters each type of function has.
func (r *reader) types() (params []int) {
	for range r.uint() {
		if form := r.byte(); form != 0x60 && r.err == nil {
			r.err = fmt.Errorf("type %d: not a function's but %#x", len(params), form)
		}
		n := len(r.vector())
		r.vector()
		if r.err != nil {
			return nil
		}
		params = append(params, n)
	}
	return params
}

func (r *reader) imports() (n int) {
	for range r.uint() {
		module, name := r.vector(), r.vector()
		if kind := r.byte(); kind != 0 && r.err == nil {
			r.err = fmt.Errorf("import %s.%s: not a function but of kind %d", module, name, kind)
		}
		r.uint()
		if r.err != nil {
			return 0
		}
		n++
	}
	return n
}

func (r *reader) numbers() (all []int) {
	for range r.uint() {
		n := r.uint()
		if r.err != nil {
			return nil
		}
		all = append(all, n)
	}
	return all
}

// functions reads the code section; types are those of its functions.
func (r *reader) functions(params, types []int) (all []function) {
	n := r.uint()
	if n != len(types) && r.err == nil {
		r.err = fmt.Errorf("%d functions where %d are declared", n, len(types))
	}
	for i := range n {
		f := function{body: r.vector()}
		if r.err != nil {
			return nil
		}
		if types[i] >= len(params) {
			r.err = fmt.Errorf("function %d: type %d is missing", i, types[i])
			return nil
		}
		f.params = params[types[i]]
		if err := f.read(); err != nil {
			r.err = fmt.Errorf("function %d: %w", i, err)
			return nil
		}
		all = append(all, f)
	}
	return all
}

// read splits a body.
func (f *function) read() error {
	r := reader{bytes: f.body}
	f.groups = r.uint()
	for range f.groups {
		f.locals += r.uint()
		r.byte()
		if r.err != nil {
			return r.err
		}
	}
	f.code = r.at
	f.instructions = r.instructions()
	return r.err
}
