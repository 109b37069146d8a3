//go:build gc.precise && tinygo.wasm

package runtime

// This stands in place of TinyGo's gc_stack_portable.go. The collector runs only between calls of the host, when no
// function of the module is running. What is in use is then what the globals refer to, so functions need not note
// their pointers for it, and none can be overlooked. An allocation that finds no room takes new memory instead.

// nextCollection is the gcTotalAlloc from which on a collection is worth while.
var nextCollection uint64

// collectBetweenCalls collects garbage, if half of the memory that was free after the last time has been allocated
// since, or always. It leaves at least a third of the heap free. Whoever calls it has no pointer to the heap in a local
// variable, nor have its callers; internal/hostcalls does.
func collectBetweenCalls(always bool) {
	if !always && !collectAlways && gcTotalAlloc < nextCollection {
		return
	}
	free := runGC()
	size := heapSize()
	if free < size/3 && growHeap() {
		free += heapSize() - size
	}
	nextCollection = gcTotalAlloc + uint64(free/2)
}

func heapSize() uintptr { return uintptr(metadataStart) - heapStart }

func gcMarkReachable() { findGlobals(markRoots) }

func gcResumeWorld() {}
