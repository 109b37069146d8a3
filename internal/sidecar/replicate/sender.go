package replicate

import (
	"context"
	"math/rand/v2"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/journal"
)

// Sender appends events to a stream as a gateway does, without an Envoy: it stands for a gateway on another machine
// where one is measured.
type Sender struct {
	client  redis.UniversalClient
	gateway string
	codec   *codec
	end     journal.Position
	batch   []byte
}

// NewSender returns one that sends in a gateway's name.
func NewSender(client redis.UniversalClient, stream, gateway, key string) *Sender {
	return &Sender{client: client, gateway: gateway, codec: newCodec(stream, func() string { return key }),
		end: journal.Position{Epoch: rand.Uint64()}}
}

// Send appends events as one entry.
func (s *Sender) Send(ctx context.Context, events []journal.Event) error {
	return s.client.XAdd(ctx, &redis.XAddArgs{Stream: s.codec.stream, MaxLen: senderEntries, Approx: true,
		Values: []any{field, s.seal(events)}}).Err()
}

// seal makes an entry of events.
func (s *Sender) seal(events []journal.Event) []byte {
	before := uint64(0)
	s.batch = s.batch[:0]
	for i := range events {
		s.batch = appendEvent(s.batch, before, s.end.Seq, &events[i])
		before = s.end.Seq
		s.end.Seq++
	}
	return s.codec.seal(&entry{gateway: s.gateway, sent: now().UnixNano(), end: s.end, batch: s.batch})
}

// senderEntries is how long its stream becomes.
const senderEntries = 20000
