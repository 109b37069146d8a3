package zmtp

import (
	"errors"
	"fmt"
	"time"
)

const (
	// mostCommand bounds the bytes of a command, mostCommands how many there are within a second: they come with no
	// message by which a reader could tell that it is flooded.
	mostCommand  = 1 << 10
	mostCommands = 100
)

// command answers a heartbeat of ZMTP 3.1, and passes over what else there may be.
func (c *Conn) command(body []byte) error {
	if len(body) > mostCommand {
		return fmt.Errorf("the peer sends a command of %d bytes, over the limit", len(body))
	}
	if now := time.Now(); now.Sub(c.counted) > time.Second {
		c.commands, c.counted = 0, now
	}
	if c.commands++; c.commands > mostCommands {
		return errors.New("the peer sends too many commands")
	}
	name, rest := commandName(body)
	switch name {
	case "PING":
		if len(rest) < 2 || len(rest) > 2+16 {
			return errors.New("the peer sends a malformed PING")
		}
		return c.sendCommand(append(append([]byte{4}, "PONG"...), rest[2:]...))
	case "ERROR":
		return refused(rest)
	}
	return nil
}

// refused is the error of an ERROR, which has its reason behind the reason's length.
func refused(rest []byte) error {
	if len(rest) > 0 && int(rest[0]) == len(rest)-1 {
		rest = rest[1:]
	}
	return fmt.Errorf("the peer says %q", rest)
}

func commandName(body []byte) (name string, rest []byte) {
	if len(body) == 0 || len(body) < 1+int(body[0]) {
		return "", nil
	}
	end := 1 + int(body[0])
	return string(body[1:end]), body[end:]
}

func (c *Conn) sendCommand(body []byte) error {
	return c.flush(append(appendHead(nil, flagCommand, len(body)), body...))
}
