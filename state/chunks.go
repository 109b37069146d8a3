package state

import "unsafe"

// chunks is an array that grows without moving: by one piece of 1<<shift elements at a time. T holds no pointers.
type chunks[T any] struct {
	pieces [][]T
	shift  uint8
}

// at returns element i, which must be below size.
func (c *chunks[T]) at(i uint32) *T {
	piece := c.pieces[i>>c.shift]
	return &piece[i&(1<<c.shift-1)]
}

func (c *chunks[T]) size() uint32 { return uint32(len(c.pieces)) << c.shift }

// reach grows the array until it has element i.
func (c *chunks[T]) reach(i uint32) {
	for i >= c.size() {
		c.pieces = append(c.pieces, make([]T, 1<<c.shift))
	}
}

// memory is the number of bytes held.
func (c *chunks[T]) memory() int {
	var element T
	var piece []T
	return int(c.size())*int(unsafe.Sizeof(element)) + cap(c.pieces)*int(unsafe.Sizeof(piece))
}
