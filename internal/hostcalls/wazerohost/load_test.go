package wazerohost

import (
	"context"
	"strings"
	"testing"
)

// module encodes a wasm module of functions without parameters and results: those it imports from a module, and those
// it exports, which do nothing; an export "NAME:i" maps an i32 to an i32.
func module(from string, imports, exports []string) []byte {
	section := func(id byte, content ...byte) []byte { return append([]byte{id, byte(len(content))}, content...) }
	name := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	out := []byte("\x00asm\x01\x00\x00\x00")
	out = append(out, section(1, 2, 0x60, 0, 0, 0x60, 1, 0x7f, 1, 0x7f)...)
	content := []byte{byte(len(imports))}
	for _, f := range imports {
		content = append(append(append(content, name(from)...), name(f)...), 0, 0)
	}
	out = append(out, section(2, content...)...)
	functions, code := []byte{byte(len(exports))}, []byte{byte(len(exports))}
	content = []byte{byte(len(exports))}
	for i, f := range exports {
		f, maps := strings.CutSuffix(f, ":i")
		content = append(append(content, name(f)...), 0, byte(len(imports)+i))
		if maps {
			functions = append(functions, 1)
			code = append(code, 4, 0, 0x41, 0, 0x0b) // i32.const 0
		} else {
			functions = append(functions, 0)
			code = append(code, 2, 0, 0x0b)
		}
	}
	out = append(out, section(3, functions...)...)
	out = append(out, section(7, content...)...)
	return append(out, section(10, code...)...)
}

func TestNewRefuses(t *testing.T) {
	const abi = "proxy_abi_version_0_2_0"
	tests := []struct {
		name string
		wasm []byte
		want string
	}{
		{"no wasm", []byte("MZ"), "compile the module"},
		{"no ABI version", module("env", nil, []string{"_initialize"}), "proxy_abi_version"},
		{"an older ABI version", module("env", nil, []string{"proxy_abi_version_0_1_0"}), "proxy_abi_version"},
		{"a command", module("env", nil, []string{abi, "_start"}), "restricted_callback"},
		{"no allocator", module("env", nil, []string{abi}), "malloc"},
		{"a wrong signature of an export", module("env", nil, []string{abi, "malloc"}), `malloc: got "", want "i>i"`},
		{"an unknown import", module("env", []string{"proxy_fly"}, []string{abi, "proxy_on_memory_allocate:i"}),
			"env.proxy_fly"},
		{"a wrong signature of an import", module("env", []string{"proxy_log"}, []string{abi, "malloc:i"}),
			`env.proxy_log: got "", want "iii>i"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, err := New(context.Background(), test.wasm, Options{})
			if err == nil {
				_ = h.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error: got %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestLookUpImport(t *testing.T) {
	for _, name := range []string{"env.proxy_fly", "env.proxy_continue_request", "wasi_snapshot_preview1.fd_pread",
		"other.proxy_log"} {
		moduleName, function, _ := strings.Cut(name, ".")
		if _, err := lookUpImport(moduleName, function); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("import of %s: got %v, want an error that names it", name, err)
		}
	}
	for _, name := range []string{"env.proxy_log", "env.proxy_grpc_call", "wasi_unstable.random_get"} {
		moduleName, function, _ := strings.Cut(name, ".")
		if _, err := lookUpImport(moduleName, function); err != nil {
			t.Errorf("import of %s: %v", name, err)
		}
	}
}

func TestPairs(t *testing.T) {
	pairs := Headers{{"a", ""}, {"", "b"}, {"x-c", "d"}}
	got, ok := decodePairs(encodePairs(pairs))
	if !ok || len(got) != 3 || got[0] != pairs[0] || got[1] != pairs[1] || got[2] != pairs[2] {
		t.Errorf("round trip: got %q %v, want %q", got, ok, pairs)
	}
	if _, ok := decodePairs(append(encodePairs(pairs), 0)); ok {
		t.Error("trailing bytes: got ok, want malformed")
	}
}

func FuzzDecodePairs(f *testing.F) {
	f.Add(encodePairs(Headers{{"a", "b"}}))
	f.Add([]byte{1, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		pairs, ok := decodePairs(b)
		if ok && len(b) > 0 && string(encodePairs(pairs)) != string(b) {
			t.Errorf("decodePairs(%x) = %q, which encodes to %x", b, pairs, encodePairs(pairs))
		}
	})
}

func FuzzParseFilterState(f *testing.F) {
	f.Add([]byte("\x0a\x01k\x12\x01v\x18\x01"))
	f.Add([]byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path, value, span, ok := parseFilterState(b)
		if len(path)+len(value) > len(b) || span < 0 || span > 2 || !ok && path+value != "" {
			t.Errorf("parseFilterState(%x) = %q, %q, %d, %v", b, path, value, span, ok)
		}
	})
}
