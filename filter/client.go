package main

import (
	"bytes"
	"encoding/binary"
	"net/netip"

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
	text := address[1:max(bytes.LastIndexByte(address, ']'), 1)]
	if zone := bytes.IndexByte(text, '%'); zone >= 0 {
		text = text[:zone]
	}
	ip, err := netip.ParseAddr(hostcalls.Text(text))
	if err != nil {
		return dst
	}
	groups := ip.As16()
	if binary.BigEndian.Uint64(groups[:8]) == 0 {
		return dst
	}
	return append(dst, groups[:8]...)
}
