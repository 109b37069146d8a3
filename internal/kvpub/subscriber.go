package kvpub

import (
	"encoding/binary"
	"net"
	"strings"
	"sync"

	"github.com/pintle-dev/pintle/internal/zmtp"
)

// subscriber is a connection with what waits for it.
type subscriber struct {
	conn  *zmtp.Conn
	queue chan sent
	mu    sync.Mutex
	// prefixes are what it has asked for.
	prefixes []string
}

// highWater is how many batches wait for a subscriber before further ones are dropped.
const highWater = 1 << 14

// serve sends batches over a connection until it ends.
func (p *Publisher) serve(raw net.Conn) {
	conn, err := zmtp.Open(raw, "PUB", zmtp.Limits{})
	if err != nil {
		return
	}
	s := &subscriber{conn: conn, queue: make(chan sent, highWater)}
	p.mu.Lock()
	p.subscribers[s] = true
	p.mu.Unlock()
	ended := make(chan struct{})
	p.tasks.Go(func() {
		defer close(ended)
		s.read(p)
	})
	defer func() {
		p.mu.Lock()
		delete(p.subscribers, s)
		p.mu.Unlock()
		_ = conn.Close()
	}()
	for {
		select {
		case <-ended:
			return
		case b := <-s.queue:
			if !s.wants(p.options.Topic) {
				continue
			}
			number := binary.BigEndian.AppendUint64(nil, b.number)
			if conn.Send([]byte(p.options.Topic), number, b.payload) != nil {
				return
			}
		}
	}
}

// read reads what a subscriber asks for.
func (s *subscriber) read(p *Publisher) {
	for {
		frames, err := s.conn.Recv()
		if err != nil {
			return
		}
		if len(frames) == 1 && len(frames[0]) > 0 && frames[0][0] == 1 {
			p.ears.RLock()
			s.mu.Lock()
			s.prefixes = append(s.prefixes, string(frames[0][1:]))
			s.mu.Unlock()
			p.ears.RUnlock()
			p.mu.Lock()
			p.joined++
			p.mu.Unlock()
		}
	}
}

func (s *subscriber) wants(topic string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, prefix := range s.prefixes {
		if strings.HasPrefix(topic, prefix) {
			return true
		}
	}
	return false
}
