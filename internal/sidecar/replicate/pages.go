package replicate

import (
	"cmp"
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/journal"
)

// readEntries is how many entries of the stream are asked for at once, pageEntries how many on the way back from its
// end.
const (
	readEntries = 256
	pageEntries = 128
)

// fewer is how many entries to ask for next where an answer with most did not come. One that is too long for the way to
// the server would be late each time.
func fewer(most int64) int64 { return max(most/4, 1) }

// next asks for what comes behind the cursor.
func (r *reader) next(ctx context.Context) ([]redis.XMessage, error) {
	most := cmp.Or(r.most, readEntries)
	page, err := r.page(ctx, r.stream, r.cursor, most)
	r.full, r.most = int64(len(page)) == most, min(2*most, readEntries)
	if err != nil {
		r.most = fewer(most)
	}
	return page, err
}

// page asks for what comes behind the cursor of a stream, and waits for it for a while.
func (m *Member) page(ctx context.Context, stream string, cursor streamID, count int64) ([]redis.XMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, blockTime+redisTimeout)
	defer cancel()
	all, err := m.client.XRead(ctx, &redis.XReadArgs{Streams: []string{stream, cursor.String()}, Count: count,
		Block: blockTime}).Result()
	if errors.Is(err, redis.Nil) || err == nil && len(all) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return all[0].Messages, nil
}

// lastPublished looks from the end of the stream for an entry of this gateway, at so many at once.
func (p *publisher) lastPublished(ctx context.Context, most int64) (journal.Position, error) {
	for end := "+"; ; {
		page, err := p.client.XRevRangeN(ctx, p.stream, end, "-", most).Result()
		if err != nil || len(page) == 0 {
			return journal.Position{}, err
		}
		for i := range page {
			if e, err := p.codec.open(textOf(&page[i])); err == nil && e.gateway == p.Gateway {
				return e.end, nil
			}
		}
		end = "(" + page[len(page)-1].ID
	}
}

// textOf is what an entry of the stream holds.
func textOf(m *redis.XMessage) []byte {
	text, _ := m.Values[field].(string)
	return []byte(text)
}
