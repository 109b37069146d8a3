package main

import (
	"bytes"
	"encoding/binary"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/journal"
)

// client is the hash of the client's address, 0 when Envoy does not tell it.
func (s *stream) client() uint64 {
	address, _ := hostcalls.Property(&s.property, sourceAddress)
	s.addresses = appendNetwork(s.addresses[:0], address)
	return journal.HashName(hostcalls.Text(s.addresses))
}

// appendNetwork appends the part of ip:port that a client cannot choose: an IPv4 address, or the first 64 bits of an
// IPv6 address unless all are zeros. One network is written in several ways, as the address has its longest row of
// zeros left out, wherever that is.
func appendNetwork(dst, address []byte) []byte {
	if len(address) == 0 || address[0] != '[' {
		port := bytes.LastIndexByte(address, ':')
		return append(dst, address[:max(port, 0)]...)
	}
	groups, ok := groupsOf(address[1:])
	if !ok || groups[0]|groups[1]|groups[2]|groups[3] == 0 {
		return dst
	}
	for _, group := range groups[:4] {
		dst = binary.BigEndian.AppendUint16(dst, group)
	}
	return dst
}

// groupsOf reads an IPv6 address of hexadecimal groups, up to a bracket or a zone.
func groupsOf(text []byte) (groups [8]uint16, ok bool) {
	n, gap, digits := 0, -1, 0
	for i, c := range text {
		if digit, hexadecimal := hexDigit(c); hexadecimal && n < len(groups) {
			groups[n] = groups[n]<<4 | digit
			digits++
			continue
		}
		switch {
		case c != ':' && c != ']' && c != '%':
			return groups, false
		case digits > 0:
			n, digits = n+1, 0
		case c == ':' && i > 0:
			gap = n
		}
		if c != ':' {
			break
		}
	}
	if gap < 0 {
		return groups, n == len(groups)
	}
	// What stands behind the gap goes to the end.
	end := len(groups) - (n - gap)
	copy(groups[end:], groups[gap:n])
	clear(groups[gap:end])
	return groups, true
}

func hexDigit(c byte) (digit uint16, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return uint16(c - '0'), true
	case c >= 'a' && c <= 'f':
		return uint16(c-'a') + 10, true
	}
	return 0, false
}
