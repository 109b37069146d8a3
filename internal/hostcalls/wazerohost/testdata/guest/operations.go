package main

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(buf unsafe.Pointer, size uint32) uint32

//go:wasmimport wasi_snapshot_preview1 environ_sizes_get
func environSizesGet(count, bytes unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 environ_get
func environGet(pointers, bytes unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 proc_exit
func procExit(code uint32)

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func (p *plugin) do(a []string) (string, error) {
	arg := func(i int) string {
		if i < len(a) {
			return strings.ReplaceAll(a[i], "\\n", "\n")
		}
		return ""
	}
	if outcome, err, ok := headers(a[0], arg); ok {
		return outcome, err
	}
	if outcome, err, ok := bodies(a[0], arg); ok {
		return outcome, err
	}
	switch a[0] {
	case "reply":
		return "", proxywasm.SendHttpResponse(uint32(number(arg(1))), [][2]string{{"X-Local", "yes"}}, []byte(arg(2)),
			-1)
	case "resume":
		return "", proxywasm.ResumeHttpRequest()
	case "resume_response":
		return "", proxywasm.ResumeHttpResponse()
	case "resume_stream": // from a context that is none
		if err := proxywasm.SetEffectiveContext(current); err != nil {
			return "", err
		}
		return "", proxywasm.ResumeHttpRequest()
	case "call":
		headers := [][2]string{{":method", "GET"}, {":path", arg(2)}, {":authority", "a"}}
		_, err := proxywasm.DispatchHttpCall(arg(1), headers, []byte("question"), nil, 100,
			func(n, size, trailers int) {
				log("answer sizes", strconv.Itoa(n)+" "+strconv.Itoa(size)+" "+strconv.Itoa(trailers), nil)
				p.run("answer", false)
			})
		return "", err
	case "state":
		return "", filterState(arg(1), arg(2), byte(number(arg(3))))
	case "foreign":
		_, err := proxywasm.CallForeignFunction(arg(1), nil)
		return "", err
	case "property":
		b, err := proxywasm.GetProperty(strings.Split(arg(1), "."))
		return string(b), err
	case "number":
		b, err := proxywasm.GetProperty(strings.Split(arg(1), "."))
		return hex.EncodeToString(b), err
	case "set_property":
		return "", proxywasm.SetProperty(strings.Split(arg(1), "."), []byte(arg(2)))
	case "configuration":
		b, err := proxywasm.GetPluginConfiguration()
		return string(b), err
	}
	return p.process(a[0], arg)
}

func (p *plugin) process(operation string, arg func(int) string) (string, error) {
	switch operation {
	case "shared_get":
		b, cas, err := proxywasm.GetSharedData(arg(1))
		return string(b) + " " + strconv.Itoa(int(cas)), err
	case "shared_set":
		return "", proxywasm.SetSharedData(arg(1), []byte(arg(2)), uint32(number(arg(3))))
	case "shared_add": // the usual loop over compare and swap
		for {
			b, cas, _ := proxywasm.GetSharedData(arg(1))
			if proxywasm.SetSharedData(arg(1), []byte(strconv.Itoa(number(string(b))+1)), cas) == nil {
				return "", nil
			}
		}
	case "count":
		proxywasm.DefineCounterMetric(arg(1)).Increment(uint64(number(arg(2))))
	case "gauge":
		proxywasm.DefineGaugeMetric(arg(1)).Add(int64(number(arg(2))))
	case "histogram":
		proxywasm.DefineHistogramMetric(arg(1)).Record(uint64(number(arg(2))))
	case "tick":
		return "", proxywasm.SetTickPeriodMilliSeconds(uint32(number(arg(1))))
	case "done":
		proxywasm.PluginDone()
	case "now":
		return strconv.FormatInt(time.Now().UnixNano(), 10), nil
	case "random":
		b := make([]byte, 8)
		errno := randomGet(unsafe.Pointer(&b[0]), 8)
		return hex.EncodeToString(b) + " " + strconv.Itoa(int(errno)), nil
	case "environ":
		var count, bytes uint32
		environSizesGet(unsafe.Pointer(&count), unsafe.Pointer(&bytes))
		b, pointers := make([]byte, bytes), make([]uint32, count)
		environGet(unsafe.Pointer(unsafe.SliceData(pointers)), unsafe.Pointer(unsafe.SliceData(b)))
		return strings.ReplaceAll(string(b), "\x00", " "), nil
	case "critical":
		proxywasm.LogCritical(arg(1))
	case "print":
		println(arg(1))
	case "panic":
		panic(arg(1))
	case "exit":
		procExit(3)
	case "sleep":
		time.Sleep(time.Millisecond)
	case "queue":
		_, err := proxywasm.RegisterSharedQueue(arg(1))
		return "", err
	case "malloc_calls":
		inMalloc = func() { _, _ = proxywasm.GetHttpRequestHeader("x-a") }
	case "malloc_logs":
		inMalloc = func() { proxywasm.LogInfo("in malloc") }
	default:
		panic("the script has an unknown operation " + operation)
	}
	return "", nil
}

func headers(operation string, arg func(int) string) (string, error, bool) {
	name, value := arg(1), arg(2)
	switch operation {
	case "get":
		v, err := proxywasm.GetHttpRequestHeader(name)
		return v, err, true
	case "all":
		all, err := proxywasm.GetHttpRequestHeaders()
		return strconv.Itoa(len(all)), err, true
	case "add":
		return "", proxywasm.AddHttpRequestHeader(name, value), true
	case "set":
		return "", proxywasm.ReplaceHttpRequestHeader(name, value), true
	case "remove":
		return "", proxywasm.RemoveHttpRequestHeader(name), true
	case "get_response":
		v, err := proxywasm.GetHttpResponseHeader(name)
		return v, err, true
	case "add_response":
		return "", proxywasm.AddHttpResponseHeader(name, value), true
	case "set_response":
		return "", proxywasm.ReplaceHttpResponseHeader(name, value), true
	case "get_trailer":
		v, err := proxywasm.GetHttpRequestTrailer(name)
		return v, err, true
	case "add_trailer":
		return "", proxywasm.AddHttpRequestTrailer(name, value), true
	case "get_answer":
		all, err := proxywasm.GetHttpCallResponseHeaders()
		return strconv.Itoa(len(all)), err, true
	}
	return "", nil, false
}

func bodies(operation string, arg func(int) string) (string, error, bool) {
	switch operation {
	case "size":
		return strconv.Itoa(size), nil, true
	case "body":
		b, err := proxywasm.GetHttpRequestBody(number(arg(1)), number(arg(2)))
		return string(b), err, true
	case "replace_body":
		return "", proxywasm.ReplaceHttpRequestBody([]byte(arg(1))), true
	case "append_body":
		return "", proxywasm.AppendHttpRequestBody([]byte(arg(1))), true
	case "prepend_body":
		return "", proxywasm.PrependHttpRequestBody([]byte(arg(1))), true
	case "response_body":
		b, err := proxywasm.GetHttpResponseBody(number(arg(1)), number(arg(2)))
		return string(b), err, true
	case "append_response":
		return "", proxywasm.AppendHttpResponseBody([]byte(arg(1))), true
	case "answer_body":
		b, err := proxywasm.GetHttpCallResponseBody(0, 1<<20)
		return string(b), err, true
	}
	return "", nil, false
}

func filterState(path, value string, span byte) error {
	b := append([]byte{0x0a, byte(len(path))}, path...)
	b = append(append(b, 0x12, byte(len(value))), value...)
	_, err := proxywasm.CallForeignFunction("set_envoy_filter_state", append(b, 0x18, span))
	return err
}
