module github.com/pintle-dev/pintle/internal/hostcalls/wazerohost/testdata/guest

go 1.26

require github.com/tetratelabs/proxy-wasm-go-sdk v0.24.0
