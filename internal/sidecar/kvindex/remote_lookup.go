package kvindex

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// others is what was found of all sidecars: which instances live, and which of them was the last to begin to hear a
// publisher, by heardField. Own is this one's name: memory knows better than its copy.
type others struct {
	live  map[string]bool
	heard map[string]string
	own   string
}

// believes reports whether another instance knows best of a publisher.
func (o *others) believes(instance, heardField string) bool {
	last := o.heard[heardField]
	return instance != o.own && o.live[instance] && (last == instance || !o.live[last])
}

// Lookup implements Index: memory answers for the endpoints that are heard here, Redis for the others.
func (r *remote) Lookup(ctx context.Context, dst []Hit, keys []Key, endpoints []string) ([]Hit, error) {
	first := len(dst)
	dst, _ = r.memory.Lookup(ctx, dst, keys, endpoints)
	known := r.others.Load()
	unheard := r.unheard(endpoints)
	if len(unheard) == 0 || len(known.live) < 2 {
		return dst, nil
	}
	hits, err := r.lookup(ctx, keys, unheard, known)
	if err != nil {
		return dst, nil // round tells of it
	}
	for _, hit := range hits {
		own := dst[first:]
		at := slices.IndexFunc(own, func(h Hit) bool { return h.Endpoint == hit.Endpoint })
		switch {
		case at < 0:
			dst = append(dst, hit)
		case hit.Score > own[at].Score:
			own[at] = hit
		}
	}
	return dst, nil
}

// unheard are those of the endpoints that hold nothing by what is heard here: another sidecar may hear them.
func (r *remote) unheard(endpoints []string) map[string]bool {
	r.memory.mu.RLock()
	defer r.memory.mu.RUnlock()
	var all map[string]bool
	for _, name := range endpoints {
		if e := r.endpoints[name]; e != nil {
			if blocks, _ := e.held(); blocks > 0 {
				continue
			}
		}
		if all == nil {
			all = map[string]bool{}
		}
		all[name] = true
	}
	return all
}

// lookup asks Redis for the runs of all publishers of the endpoints.
func (r *remote) lookup(ctx context.Context, keys []Key, endpoints map[string]bool, known *others) ([]Hit, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	runs := map[string]*run{} // by instance, rank and endpoint
	for from := 0; from < len(keys); from += remoteLookup {
		chunk := keys[from:min(from+remoteLookup, len(keys))]
		pipe := r.client.Pipeline()
		fields := make([]*redis.StringSliceCmd, len(chunk))
		for i, key := range chunk {
			fields[i] = pipe.HKeys(ctx, keyName(key))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		for i := range chunk {
			if !r.stepFields(runs, from+i, fields[i].Val(), endpoints, known) {
				return bestOf(runs), nil
			}
		}
	}
	return bestOf(runs), nil
}

// stepFields takes in who holds the i-th key. It reports whether anybody does that holds all before it.
func (r *remote) stepFields(runs map[string]*run, i int, fields []string, endpoints map[string]bool,
	known *others) bool {
	var touched []*run
	for _, text := range fields[:min(len(fields), maxFields)] {
		f, ok := readField(text)
		if !ok || !endpoints[f.endpoint] || !known.believes(f.instance, heardField(f.rank, f.endpoint)) {
			continue
		}
		one := runs[f.who()]
		if one == nil {
			if i > 0 {
				continue // it lacks the blocks before
			}
			one = &run{hit: Hit{Endpoint: f.endpoint, Rank: f.number}}
			runs[f.who()] = one
		}
		switch {
		case one.seen == i+1 && r.weights[f.tier] > r.weights[one.best]:
			one.best = f.tier
		case one.seen == i:
			one.seen, one.best = i+1, f.tier
			touched = append(touched, one)
		}
	}
	for _, one := range touched {
		one.hit.Blocks++
		one.hit.ByTier[one.best]++
		one.hit.Score += r.weights[one.best]
	}
	return len(touched) > 0
}

// bestOf returns the best run of each endpoint.
func bestOf(runs map[string]*run) []Hit {
	best := map[string]Hit{}
	for _, one := range runs {
		had, known := best[one.hit.Endpoint]
		if one.hit.Blocks > 0 && (!known || one.hit.Score > had.Score || one.hit.Score == had.Score &&
			one.hit.Rank < had.Rank) {
			best[one.hit.Endpoint] = one.hit
		}
	}
	all := make([]Hit, 0, len(best))
	for _, hit := range best {
		all = append(all, hit)
	}
	return all
}
