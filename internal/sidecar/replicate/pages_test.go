package replicate

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/journal"
)

// slow is a server whose answers with more than so many entries come too late.
type slow struct {
	most  int64
	asked []int64 // how many entries each time
}

func (s *slow) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slow) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, commands []redis.Cmder) error {
		for _, command := range commands {
			command.SetErr(context.DeadlineExceeded)
		}
		return context.DeadlineExceeded
	}
}

func (s *slow) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, command redis.Cmder) error {
		args := command.Args()
		count, _ := args[slices.Index(args, "count")+1].(int64)
		s.asked = append(s.asked, count)
		if count > s.most {
			command.SetErr(context.DeadlineExceeded)
			return context.DeadlineExceeded
		}
		switch command := command.(type) {
		case *redis.XStreamSliceCmd:
			command.SetVal([]redis.XStream{{Stream: stream, Messages: make([]redis.XMessage, count)}})
		case *redis.XMessageSliceCmd:
			command.SetVal(nil) // no gateway has said anything yet
		}
		return nil
	}
}

// TestLongAnswersThatAreLate: where many entries are too much for the way to the server fewer are asked for, and more
// again later: a gateway that has much to catch up with would ask for the same in vain for ever.
func TestLongAnswersThatAreLate(t *testing.T) {
	for _, test := range []struct {
		name string
		most int64
		want []int64
	}{
		{"in time", readEntries, []int64{256, 256, 256, 256, 256, 256, 256, 256}},
		{"late", 100, []int64{256, 64, 128, 32, 64, 128, 32, 64}},
		{"very late", 1, []int64{256, 64, 16, 4, 1, 2, 1, 2}},
		{"away", 0, []int64{256, 64, 16, 4, 1, 1, 1, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := &slow{most: test.most}
			client := redis.NewClient(&redis.Options{})
			defer client.Close()
			client.AddHook(server)
			r := reader{Member: &Member{client: client, stream: stream}}
			for i, count := range test.want {
				page, err := r.next(t.Context())
				if got := len(page); (err == nil) != (count <= test.most) || err == nil && got != int(count) {
					t.Errorf("time %d: got %d entries, %v, want %d if that is in time", i+1, got, err, count)
				}
			}
			if !slices.Equal(server.asked, test.want) {
				t.Errorf("asked for %d entries, want %d", server.asked, test.want)
			}
		})
	}
}

// TestLongAnswersAtTheStart: a gateway that looks for what the process before has said does so in smaller steps, too.
func TestLongAnswersAtTheStart(t *testing.T) {
	server := &slow{most: 10}
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	client.AddHook(server)
	p := publisher{Member: &Member{client: client, stream: stream, metrics: newMetrics(), failure: map[string]string{},
		log: slog.New(slog.DiscardHandler)}, codec: newCodec(stream, func() string { return token })}
	if from, ok := p.begin(t.Context()); !ok || from != (journal.Position{}) {
		t.Errorf("got %v, %v, want to begin at the beginning", from, ok)
	}
	if want := []int64{128, 32, 8}; !slices.Equal(server.asked, want) {
		t.Errorf("asked for %d entries, want %d", server.asked, want)
	}
}
