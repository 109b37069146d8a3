//go:build tinygo

package hostcalls

import "unsafe"

// gift is where the host puts the address and the size of what it gives. Local variables would be garbage of each call:
// TinyGo takes them to the heap, as it cannot know what a host does with their addresses.
type gift struct {
	data *byte
	size uint32
}

var given gift

func (g *gift) at() unsafe.Pointer     { return unsafe.Pointer(&g.data) }
func (g *gift) sizeAt() unsafe.Pointer { return unsafe.Pointer(&g.size) }
func (g *gift) bytes() []byte          { return unsafe.Slice(g.data, g.size) }
