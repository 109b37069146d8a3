// Package dnstest is a DNS server for tests.
package dnstest

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Server is a DNS server on loopback whose records tests change. It ends with its test.
type Server struct {
	Address string

	mu      sync.Mutex
	records map[string][]dnsmessage.ResourceBody // by name, with the dot at the end
	fails   bool
	failing map[string]bool // the names that alone fail
	delay   time.Duration
	silent  int // how many questions more get no answer
	looks   int
}

// New starts a server without records.
func New(t testing.TB) *Server {
	t.Helper()
	connection, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	s := &Server{Address: connection.LocalAddr().String(), records: map[string][]dnsmessage.ResourceBody{}}
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := connection.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer, delay := s.answer(buffer[:n]); answer != nil {
				time.AfterFunc(delay, func() { _, _ = connection.WriteTo(answer, from) })
			}
		}
	}()
	return s
}

// Set sets the records of a name, which ends with a dot, and whether the server fails, whatever it is asked.
func (s *Server) Set(name string, fails bool, records ...dnsmessage.ResourceBody) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[name], s.fails = records, fails
}

// FailFor has the server fail for these names alone.
func (s *Server) FailFor(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = map[string]bool{}
	for _, name := range names {
		s.failing[name] = true
	}
}

// Delay has the server take so long for each answer, whatever else it is asked meanwhile.
func (s *Server) Delay(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = delay
}

// Ignore has the server leave so many questions unanswered.
func (s *Server) Ignore(questions int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = questions
}

// Fails reports whether it was set to fail.
func (s *Server) Fails() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fails
}

// Looks is how many questions it was asked.
func (s *Server) Looks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

func (s *Server) answer(query []byte) (answer []byte, delay time.Duration) {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	if s.silent > 0 {
		s.silent--
		return nil, 0
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	switch bodies, known := s.records[q.Name.String()]; {
	case s.fails || s.failing[q.Name.String()]:
		m.RCode = dnsmessage.RCodeServerFailure
	case !known || len(bodies) == 0:
		m.RCode = dnsmessage.RCodeNameError
	default:
		for _, body := range bodies {
			header := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
			if kind(body) == q.Type {
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: body})
			}
		}
	}
	answer, err := m.Pack()
	if err != nil {
		return nil, 0
	}
	return answer, s.delay
}

func kind(body dnsmessage.ResourceBody) dnsmessage.Type {
	switch body.(type) {
	case *dnsmessage.AResource:
		return dnsmessage.TypeA
	case *dnsmessage.AAAAResource:
		return dnsmessage.TypeAAAA
	case *dnsmessage.TXTResource:
		return dnsmessage.TypeTXT
	}
	return dnsmessage.TypeSRV
}

// A is the record of an IPv4 address.
func A(address string) *dnsmessage.AResource {
	return &dnsmessage.AResource{A: netip.MustParseAddr(address).As4()}
}
