// Package zmtp speaks ZMTP 3.0, the protocol of ZeroMQ's sockets (rfc.zeromq.org/spec/23), with the NULL mechanism: as
// much of it as publishers of KV events and their readers need. A peer that is broken or hostile costs no more memory
// and time than Limits say.
package zmtp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// Limits bound what a peer may send. Zero fields take the default that is named beside them.
type Limits struct {
	// Message is the largest number of bytes in all frames of a message together. Default 8 MiB.
	Message int
	// Frames is the largest number of frames of a message. Default 16.
	Frames int
	// Handshake is how long a peer may take until it is ready. Default 5 s.
	Handshake time.Duration
	// Whole is how long a message may take from its first byte to its last, and how long sending one may take. Default
	// 10 s.
	Whole time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Message == 0 {
		l.Message = 8 << 20
	}
	if l.Frames == 0 {
		l.Frames = 16
	}
	if l.Handshake == 0 {
		l.Handshake = 5 * time.Second
	}
	if l.Whole == 0 {
		l.Whole = 10 * time.Second
	}
	return l
}

// Conn is a connection whose handshake is over. One goroutine may receive while another one sends.
type Conn struct {
	conn   net.Conn
	in     *bufio.Reader
	limits Limits
	peer   string

	buffer []byte
	ends   []int
	frames [][]byte
	out    []byte

	// commands is how many there were since counted.
	commands int
	counted  time.Time
}

const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4

	greetingBytes = 64
	socketType    = "Socket-Type"
	chunk         = 64 << 10
)

// Open does the handshake as a socket of a type, such as SUB, over a connection that was dialled or accepted. It closes
// the connection if it fails.
func Open(conn net.Conn, socket string, limits Limits) (*Conn, error) {
	c := &Conn{conn: conn, in: newReader(conn), limits: limits.withDefaults()}
	_ = conn.SetDeadline(time.Now().Add(c.limits.Handshake))
	if err := c.handshake(socket); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("handshake: %w", err)
	}
	_ = conn.SetDeadline(time.Time{})
	return c, nil
}

// Peer is the type of the other side's socket.
func (c *Conn) Peer() string { return c.peer }

// Close ends the connection, and with it whatever waits for it.
func (c *Conn) Close() error { return c.conn.Close() }

func (c *Conn) handshake(socket string) error {
	greeting := make([]byte, greetingBytes)
	greeting[0], greeting[9], greeting[10] = 0xff, 0x7f, 3
	copy(greeting[12:], "NULL")
	ready := append([]byte{5}, "READY"...)
	ready = append(append(ready, byte(len(socketType))), socketType...)
	ready = append(binary.BigEndian.AppendUint32(ready, uint32(len(socket))), socket...)
	if _, err := c.conn.Write(greeting); err != nil {
		return err
	}
	theirs := make([]byte, greetingBytes)
	if _, err := io.ReadFull(c.in, theirs); err != nil {
		return err
	}
	switch {
	case theirs[0] != 0xff || theirs[9]&1 == 0:
		return errors.New("the peer does not speak ZMTP")
	case theirs[10] < 3:
		return fmt.Errorf("the peer speaks ZMTP %d, which is too old", theirs[10])
	case string(theirs[12:17]) != "NULL\x00":
		return fmt.Errorf("the peer wants the security mechanism %q; NULL is known", cString(theirs[12:32]))
	}
	if err := c.sendCommand(ready); err != nil {
		return err
	}
	flags, body, err := c.frame(nil, mostCommand)
	if err != nil {
		return err
	}
	if flags&flagCommand == 0 {
		return errors.New("the peer sent no command")
	}
	return c.ready(body)
}

func cString(b []byte) string {
	for i := range b {
		if b[i] == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// ready reads the properties of the peer's READY.
func (c *Conn) ready(body []byte) error {
	name, left := commandName(body)
	switch name {
	case "READY":
	case "ERROR":
		return refused(left)
	default:
		return fmt.Errorf("the peer answers %q", name)
	}
	for len(left) > 0 {
		n := int(left[0])
		if len(left) < 1+n+4 {
			return errors.New("the peer's READY is cut short")
		}
		key := string(left[1 : 1+n])
		size := binary.BigEndian.Uint32(left[1+n:])
		left = left[1+n+4:]
		if uint64(size) > uint64(len(left)) {
			return errors.New("the peer's READY is cut short")
		}
		if key == socketType {
			c.peer = string(left[:size])
		}
		left = left[size:]
	}
	return nil
}

// frame appends the next frame's body, of no more than most bytes, to dst.
func (c *Conn) frame(dst []byte, most int) (flags byte, body []byte, err error) {
	var head [9]byte
	if _, err = io.ReadFull(c.in, head[:2]); err != nil {
		return 0, dst, err
	}
	flags = head[0]
	if flags&^(flagMore|flagLong|flagCommand) != 0 {
		return 0, dst, errors.New("the peer sends frames with unknown flags")
	}
	size := uint64(head[1])
	if flags&flagLong != 0 {
		if _, err = io.ReadFull(c.in, head[2:]); err != nil {
			return 0, dst, err
		}
		size = binary.BigEndian.Uint64(head[1:])
	}
	if size > uint64(max(most, 0)) {
		return 0, dst, fmt.Errorf("the peer sends a message with a frame of %d bytes, over the limit", size)
	}
	// What is announced takes no memory until it comes.
	for size > 0 {
		n := int(min(size, chunk))
		start := len(dst)
		dst = append(dst, make([]byte, n)...)
		if _, err = io.ReadFull(c.in, dst[start:]); err != nil {
			return 0, dst, err
		}
		size -= uint64(n)
	}
	return flags, dst, nil
}

// Recv returns the frames of the next message. They are good until the next call. It waits for as long as it takes for
// a message to begin, but not for its rest. After an error the connection is of no use.
func (c *Conn) Recv() ([][]byte, error) {
	for {
		if _, err := c.in.Peek(1); err != nil {
			return nil, err
		}
		if c.in.Buffered() < 2 || !c.complete() {
			_ = c.conn.SetReadDeadline(time.Now().Add(c.limits.Whole))
		}
		frames, command, err := c.message()
		_ = c.conn.SetReadDeadline(time.Time{})
		if err != nil || !command {
			return frames, err
		}
	}
}

// Await waits for a message to begin, for no longer than d. It reports whether one does.
func (c *Conn) Await(d time.Duration) (bool, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(d))
	_, err := c.in.Peek(1)
	_ = c.conn.SetReadDeadline(time.Time{})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
}

// complete reports whether the next frame is there and the last of its message.
func (c *Conn) complete() bool {
	head, _ := c.in.Peek(2)
	return len(head) == 2 && head[0] == 0 && c.in.Buffered() >= 2+int(head[1])
}

func (c *Conn) message() (frames [][]byte, command bool, err error) {
	c.buffer, c.ends, c.frames = c.buffer[:0], c.ends[:0], c.frames[:0]
	if cap(c.buffer) > 4*chunk {
		c.buffer = nil // one large message does not keep its memory
	}
	for more := true; more; {
		if len(c.ends) == c.limits.Frames {
			return nil, false, errors.New("the peer sends a message of too many frames")
		}
		var flags byte
		start := len(c.buffer)
		flags, c.buffer, err = c.frame(c.buffer, c.limits.Message-start)
		if err != nil {
			return nil, false, err
		}
		if flags&flagCommand != 0 {
			err = c.command(c.buffer[start:])
			if err != nil || len(c.ends) == 0 {
				return nil, true, err
			}
			c.buffer = c.buffer[:start] // libzmq's heartbeats come between a message's frames, too
			continue
		}
		c.ends = append(c.ends, len(c.buffer))
		more = flags&flagMore != 0
	}
	start := 0
	for _, end := range c.ends {
		c.frames = append(c.frames, c.buffer[start:end:end])
		start = end
	}
	return c.frames, false, nil
}

// Send sends a message.
func (c *Conn) Send(frames ...[]byte) error {
	c.out = c.out[:0]
	for i, frame := range frames {
		var flags byte
		if i < len(frames)-1 {
			flags = flagMore
		}
		c.out = append(appendHead(c.out, flags, len(frame)), frame...)
	}
	return c.flush(c.out)
}

// Subscribe asks a publisher for messages whose first frame begins with prefix.
func (c *Conn) Subscribe(prefix string) error { return c.Send(append([]byte{1}, prefix...)) }

func appendHead(dst []byte, flags byte, size int) []byte {
	if size > 255 {
		return binary.BigEndian.AppendUint64(append(dst, flags|flagLong), uint64(size))
	}
	return append(dst, flags, byte(size))
}

func (c *Conn) flush(b []byte) error {
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.limits.Whole))
	_, err := c.conn.Write(b)
	return err
}

func newReader(conn net.Conn) *bufio.Reader { return bufio.NewReaderSize(conn, 16<<10) }
