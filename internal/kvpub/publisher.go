package kvpub

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/zmtp"
)

// Options are those of a publisher.
type Options struct {
	// Listen is an address to listen on; Connect, without it, is one to connect to.
	Listen, Connect string
	// Replay is an address to listen on for those who ask for old batches; empty is none.
	Replay string
	Topic  string
	// Buffer is how many batches are kept for that. Default 10,000, as in vLLM.
	Buffer int
	// ShortReplay leaves the topic out of replays, as SGLang did before 0.5.22.
	ShortReplay bool
}

// Publisher publishes batches to all who have subscribed.
type Publisher struct {
	options Options
	ctx     context.Context
	stop    context.CancelFunc
	tasks   sync.WaitGroup
	// ears are held by who has it heed no subscription.
	ears sync.RWMutex

	mu sync.Mutex
	// leave ends what listens, with all connections; nil after Leave.
	leave       func()
	next        uint64
	buffer      []sent
	subscribers map[*subscriber]bool
	conns       map[net.Conn]bool
	joined      int // subscribers ever
	lose        int
	loseAll     bool
}

// sent is a batch that was published.
type sent struct {
	number  uint64
	payload []byte
}

// New starts a publisher.
func New(o Options) (*Publisher, error) {
	if o.Buffer == 0 {
		o.Buffer = 10_000
	}
	p := &Publisher{options: o, subscribers: map[*subscriber]bool{}, conns: map[net.Conn]bool{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	if o.Listen == "" {
		p.tasks.Go(p.connect)
	}
	if err := p.Return(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Address is where it listens; empty is nowhere.
func (p *Publisher) Address() string { return p.options.Listen }

// ReplayAddress is where it is asked for old batches; empty is nowhere.
func (p *Publisher) ReplayAddress() string { return p.options.Replay }

// Close ends all connections.
func (p *Publisher) Close() {
	p.mu.Lock()
	p.stop()
	p.mu.Unlock()
	p.Leave()
	p.tasks.Wait()
}

// Leave has it refuse connections, and ends those that there are, as if the engine had died. What is published
// meanwhile can be asked for after Return.
func (p *Publisher) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leave != nil {
		p.leave()
		p.leave = nil
	}
}

// Return has it listen again where it did before Leave, and does nothing without one.
func (p *Publisher) Return() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leave != nil || p.ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(p.ctx)
	var listeners []net.Listener
	leave := func() {
		cancel()
		for _, l := range listeners {
			_ = l.Close()
		}
	}
	for _, socket := range []struct {
		address *string
		serve   func(net.Conn)
	}{{&p.options.Listen, p.serve}, {&p.options.Replay, p.answer}} {
		if *socket.address == "" {
			continue
		}
		l, err := net.Listen("tcp", *socket.address)
		if err != nil {
			leave()
			return err
		}
		listeners = append(listeners, l)
		if found := l.Addr().String(); found != *socket.address { // once, before anybody asks
			*socket.address = found
		}
		p.tasks.Go(func() { p.accept(ctx, l, socket.serve) })
	}
	p.leave = leave
	return nil
}

// Subscribers returns how many there are.
func (p *Publisher) Subscribers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for s := range p.subscribers {
		s.mu.Lock()
		if len(s.prefixes) > 0 {
			n++
		}
		s.mu.Unlock()
	}
	return n
}

// Joined returns how many subscribers there have been.
func (p *Publisher) Joined() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.joined
}

// Published returns how many batches there have been since the numbers began.
func (p *Publisher) Published() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}

// Publish sends a batch to all, under the next number.
func (p *Publisher) Publish(payload []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := sent{p.next, payload}
	p.next++
	lost := p.lose > 0
	if lost {
		p.lose--
	}
	if !lost || !p.loseAll {
		p.buffer = append(p.buffer, b)
	}
	if len(p.buffer) > p.options.Buffer {
		p.buffer = p.buffer[len(p.buffer)-p.options.Buffer:]
	}
	if lost {
		return
	}
	for s := range p.subscribers {
		select {
		case s.queue <- b:
		default:
		}
	}
}

// Lose loses the next n batches on their way. With forever they are not there to be asked for, either.
func (p *Publisher) Lose(n int, forever bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose, p.loseAll = n, forever
}

// Deafen has subscriptions wait until heed is called, while all else goes on, as ZeroMQ heeds them later than they
// come. Close waits for that, too.
func (p *Publisher) Deafen() (heed func()) {
	p.ears.Lock()
	return p.ears.Unlock
}

// Restart does as an engine that was started anew: connections end, numbers begin at zero, nothing is kept.
func (p *Publisher) Restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, p.buffer = 0, nil
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// over serves a connection, and closes it.
func (p *Publisher) over(conn net.Conn, serve func(net.Conn)) {
	p.mu.Lock()
	p.conns[conn] = true
	p.mu.Unlock()
	serve(conn)
	_ = conn.Close()
	p.mu.Lock()
	delete(p.conns, conn)
	p.mu.Unlock()
}

func (p *Publisher) accept(ctx context.Context, l net.Listener, serve func(net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		p.tasks.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			p.over(conn, serve)
		})
	}
}

// connect connects until it ends, as ZeroMQ does.
func (p *Publisher) connect() {
	dialer := net.Dialer{Timeout: time.Second}
	for p.ctx.Err() == nil {
		if conn, err := dialer.DialContext(p.ctx, "tcp", p.options.Connect); err == nil {
			stop := context.AfterFunc(p.ctx, func() { _ = conn.Close() })
			p.over(conn, p.serve)
			stop()
		}
		select {
		case <-p.ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// answer sends old batches to who asks for them.
func (p *Publisher) answer(raw net.Conn) {
	conn, err := zmtp.Open(raw, "ROUTER", zmtp.Limits{})
	if err != nil {
		return
	}
	for {
		frames, err := conn.Recv()
		if err != nil {
			return
		}
		if len(frames) != 2 || len(frames[1]) != 8 {
			continue
		}
		from := binary.BigEndian.Uint64(frames[1])
		p.mu.Lock()
		all := append([]sent(nil), p.buffer...)
		p.mu.Unlock()
		for _, b := range append(all, sent{number: ^uint64(0)}) {
			if b.number < from {
				continue
			}
			if p.replayed(conn, b) != nil {
				return
			}
		}
	}
}

func (p *Publisher) replayed(conn *zmtp.Conn, b sent) error {
	number := binary.BigEndian.AppendUint64(nil, b.number)
	if p.options.ShortReplay {
		return conn.Send(nil, number, b.payload)
	}
	return conn.Send(nil, []byte(p.options.Topic), number, b.payload)
}
