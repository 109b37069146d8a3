//go:build gc.precise && tinygo.wasm

package runtime

import "unsafe"

// This stands in place of TinyGo's gc_stack_portable.go. The collector runs only between calls of the host, when no
// function of the module is running. What is in use is then what the globals refer to, so functions need not note
// their pointers for it, and none can be overlooked. An allocation that finds no room takes new memory instead.

// nextCollection is what is to be taken until a collection is worth while.
var nextCollection uint64

// taken is what allocations have taken of the heap so far, at most. gcTotalAlloc leaves out each object's header and
// the rest of its last block, which for small ones are more than the object: by it alone a heap may be full, and take
// new memory, before half of it is taken.
func taken() uint64 {
	return gcTotalAlloc + gcMallocs*uint64(align(unsafe.Sizeof(objHeader{}))+bytesPerBlock-1)
}

// collectBetweenCalls collects garbage, if half of the memory that was free after the last time has been allocated
// since, or always. It leaves at least a third of the heap free. Whoever calls it has no pointer to the heap in a local
// variable, nor have its callers; internal/hostcalls does.
func collectBetweenCalls(always bool) {
	if !always && !collectAlways && taken() < nextCollection {
		return
	}
	free := runGC()
	size := heapSize()
	if free < size/3 && growHeap() {
		free += heapSize() - size
	}
	nextCollection = taken() + uint64(free/2)
}

func heapSize() uintptr { return uintptr(metadataStart) - heapStart }

func gcMarkReachable() { findGlobals(markRoots) }

func gcResumeWorld() {}
