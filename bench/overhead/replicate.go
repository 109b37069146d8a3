package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/replicate"
	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/journal"
)

const (
	// elsewherePeriod is how often the other gateway tells of requests.
	elsewherePeriod = config.DefaultReplicateInterval
	stream          = "pintle" // as in the sidecar's defaults
	apart           = "apart"  // one that nobody reads
)

// elsewhere is a gateway on another machine, as far as this one hears of it: what it appends to the stream while an
// Envoy is loaded. It is told nothing.
type elsewhere struct {
	valkey         *harness.Valkey
	client         *redis.Client
	heard, unheard *voice
	endpoints      []uint64
	// decided and ended are what it tells of each request: the first ones of the Envoy that is measured, with other
	// leases and prompts.
	decided, ended journal.Event
	blocks         []uint64
	random         *rand.Rand
	rate           int // requests per second
	told           time.Time
	lease          uint32
	failure        error
}

// voice is what is told on a stream.
type voice struct {
	sender *replicate.Sender
	open   []journal.Event // to end with the next batch
}

// newElsewhere starts the stream's server, and what it keeps lies in a folder.
func newElsewhere(folder string, rate int) (*elsewhere, error) {
	valkey, err := harness.NewValkey(folder, "--appendonly", "no", "--save", "")
	if err != nil {
		return nil, err
	}
	e := &elsewhere{valkey: valkey, client: valkey.Client(), random: rand.New(rand.NewPCG(3, 4)), rate: rate}
	e.heard = &voice{sender: replicate.NewSender(e.client, stream, "elsewhere", token)}
	e.unheard = &voice{sender: replicate.NewSender(e.client, apart, "elsewhere", token)}
	for i := range serverCount {
		e.endpoints = append(e.endpoints, journal.EndpointID(fmt.Sprint(serverPrefix, "-", i)))
	}
	return e, nil
}

func (e *elsewhere) close() {
	_ = e.client.Close()
	e.valkey.Kill()
}

// learn takes an answered request of the Envoy as the pattern of those to tell of.
func (e *elsewhere) learn(v *variant) error {
	text, err := v.askIngest(http.MethodGet, "/journal?at=0.0.0.0", nil)
	if err != nil {
		return err
	}
	a, ok := journal.ParseAnswer(text)
	if !ok {
		return fmt.Errorf("the journal's answer of %d bytes cannot be read", len(text))
	}
	var f journal.Follower
	f.Read(&a, func(x *journal.Event, _ journal.Position) {
		if x.Relayed || len(e.ended.Chains) > 0 {
			return
		}
		switch x.Kind {
		case journal.Decision:
			e.decided = *x
			e.decided.Steps, e.decided.Chains = nil, slices.Clone(x.Chains)
			if len(x.Chains) > 0 {
				e.blocks = slices.Clone(x.Chains[0].Blocks)
			}
		case journal.Completion:
			e.ended = *x
			e.ended.Steps, e.ended.Chains = nil, nil
		}
	})
	if e.decided.Kind != journal.Decision || e.ended.Kind != journal.Completion || len(e.blocks) == 0 {
		return errors.New("the journal has no request whose prompt was compared")
	}
	e.decided.Instance = e.random.Uint64()
	return nil
}

// tell appends what becomes of requests until ctx ends.
func (e *elsewhere) tell(ctx context.Context, v *voice) {
	e.told = time.Now()
	ticker := time.NewTicker(elsewherePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if e.rate == 0 {
			continue
		}
		if err := v.sender.Send(context.WithoutCancel(ctx), e.batch(v)); err != nil {
			e.failure = err
			return
		}
	}
}

// batch is what happened in a period: requests were decided, and those of the period before have ended.
func (e *elsewhere) batch(v *voice) []journal.Event {
	// A ticker that comes late has more to tell.
	count := int(time.Since(e.told).Seconds() * float64(e.rate))
	e.told = e.told.Add(time.Duration(count) * time.Second / time.Duration(e.rate))
	now := time.Now().UnixNano()
	all := v.open
	for i := range all {
		all[i].Time = now
	}
	v.open = nil
	for range count {
		d, c := e.request(now)
		all = append(all, d)
		v.open = append(v.open, c)
	}
	return all
}

// request is what is told of the next one.
func (e *elsewhere) request(now int64) (decided, ended journal.Event) {
	d, c := e.decided, e.ended
	e.lease++
	d.Time, d.Lease, d.Primary = now, e.lease, e.endpoints[e.random.IntN(len(e.endpoints))]
	blocks := make([]uint64, len(e.blocks))
	for i := range blocks {
		blocks[i] = e.random.Uint64()
	}
	d.Chains = []journal.Chain{{ID: e.decided.Chains[0].ID, Blocks: blocks}}
	c.Time, c.Instance, c.Lease, c.Primary = now, d.Instance, d.Lease, d.Primary
	return d, c
}

// replicateVariants are the filter whose journal the sidecar follows, and one whose sidecar is to share it with another
// gateway, too.
func replicateVariants(module string) []*variant {
	all := followVariants(module)
	all[0].name, all[0].unfollowed = "followed", false
	all[1].name = "replicated"
	return all
}

// filled is how many requests an Envoy has heard of before it is measured: one that has been in use knows as many
// prompts, whether it hears of others or not.
const filled = 30_000

// fill tells an Envoy of requests that are over, by its ingest listener.
func (e *elsewhere) fill(v *variant) error {
	var events []byte
	for left := filled; left > 0; {
		events = events[:0]
		for ; left > 0 && len(events) < journal.MaxRelayBytes/2; left-- {
			d, c := e.request(time.Now().UnixNano())
			events = journal.AppendEvent(journal.AppendEvent(events, &d), &c)
		}
		message := journal.AppendRelay(nil, journal.AnyMark, journal.AnyMark, events)
		if _, err := v.askIngest(http.MethodPost, "/events", message); err != nil {
			return err
		}
	}
	return nil
}

// askIngest sends something to the Envoy's ingest listener, and returns what it answers with 200.
func (v *variant) askIngest(method, path string, body []byte) (answer []byte, err error) {
	ingest := config.Ingest{URL: "http://" + stack.Address(v.ingestPort) + config.IngestPath}
	request, err := ingest.Request(context.Background(), method, path, token, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the ingest listener answered %s to %s %s", response.Status, method, path)
	}
	return io.ReadAll(response.Body)
}
