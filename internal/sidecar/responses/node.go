package responses

import (
	"container/list"
	"math/bits"
	"slices"
	"time"
)

// node is an entry in memory. What came before it are the nodes that prev leads to, unless that is nil: then it is
// among its own bytes. Nodes never change; one that is forgotten lives on while others come after it.
type node struct {
	key           string // with id and tenant, which share its bytes
	idLength      int
	previous      string
	expires       time.Time
	before, input int // lengths
	prev          *node
	place         *list.Element
	pieces        [][]byte // of before, input and response
	length        int
}

// Lengths of pieces. The allocator rounds all up by as much as an eighth but powers of two, and has some of its own
// memory for each.
const (
	longestPiece = 16 << 10
	shortPiece   = 512
)

// cut copies the parts, one after the other, into pieces.
func cut(parts ...[]byte) (pieces [][]byte) {
	left := 0
	for _, part := range parts {
		left += len(part)
	}
	for left > 0 {
		size := left
		if left > shortPiece {
			size = min(1<<(bits.Len(uint(left))-1), longestPiece)
		}
		piece := make([]byte, 0, size)
		for len(piece) < size {
			n := min(len(parts[0]), size-len(piece))
			piece = append(piece, parts[0][:n]...)
			if parts[0] = parts[0][n:]; len(parts[0]) == 0 {
				parts = parts[1:]
			}
		}
		pieces, left = append(pieces, piece), left-size
	}
	return slices.Clip(pieces)
}

func newNode(e *Entry, prev *node) *node {
	before := e.Before
	if prev != nil {
		before = nil
	}
	n := &node{key: e.Key(), idLength: len(e.ID), previous: e.Previous, expires: e.Expires, before: len(before),
		input: len(e.Input), prev: prev, length: len(before) + len(e.Input) + len(e.Response)}
	n.pieces = cut(before, e.Input, e.Response)
	return n
}

// bytes is what counts.
func (n *node) bytes() int64 { return int64(n.length) }

// own is the entry without what prev leads to.
func (n *node) own() *Entry {
	all := make([]byte, 0, n.length)
	for _, piece := range n.pieces {
		all = append(all, piece...)
	}
	e := &Entry{ID: n.key[:n.idLength], Tenant: n.key[n.idLength+1:], Previous: n.previous, Expires: n.expires}
	e.Before, all = all[:n.before:n.before], all[n.before:]
	e.Input, e.Response = all[:n.input:n.input], all[n.input:]
	return e
}

// whole is the entry with all that came before.
func (n *node) whole() *Entry {
	e := n.own()
	if n.prev == nil {
		return e
	}
	var lists [][]byte
	for at := n.prev; at != nil; at = at.prev {
		turn := at.own()
		lists = append(lists, outputOf(turn.Response), turn.Input, turn.Before)
	}
	slices.Reverse(lists)
	e.Before = join(lists...)
	return e
}
