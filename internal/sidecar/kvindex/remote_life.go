package kvindex

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

func heardField(rank, endpoint string) string { return rank + "|" + endpoint }

// claim is what was said of a publisher: under which name of this instance, and which id it had. A publisher that was
// cleared has another one.
type claim struct {
	instance string
	id       uint32
}

// claim says which publishers are heard here: each once, and again when nobody who lives says so any more as far as was
// looked just now, or when it was cleared, as it may have gone to another sidecar and come back. While it holds nothing
// it may still be there. What is known of them has been written before.
func (r *remote) claim(ctx context.Context, looked bool) error {
	known := r.others.Load()
	pipe := r.client.Pipeline()
	there := map[string]bool{}
	for _, p := range r.everybody() {
		if p.Rank < 0 {
			continue
		}
		field := heardField(strconv.Itoa(p.Rank), p.Endpoint)
		there[field] = true
		p.mu.Lock()
		now, holds := claim{r.instance, p.id.Load()}, p.blocks.n > 0
		p.mu.Unlock()
		before, said := r.claimed[field]
		if !said || holds && (before != now || looked && !known.live[known.heard[field]]) {
			pipe.HSet(ctx, heardName, field, r.instance)
			r.claimed[field] = now
		}
	}
	for field := range r.claimed {
		if !there[field] {
			pipe.HDel(ctx, heardName, field)
			delete(r.claimed, field)
		}
	}
	_, err := pipe.Exec(ctx)
	return err
}

// showLife renews this sidecar's sign of life, and finds out who is alive. When its own was gone, so may be the copy.
func (r *remote) showLife(ctx context.Context) error {
	pipe := r.client.Pipeline()
	before := pipe.Exists(ctx, r.lifeName())
	pipe.Set(ctx, r.lifeName(), 1, lifeTime)
	pipe.SAdd(ctx, instancesName, r.instance)
	all := pipe.SRandMemberN(ctx, instancesName, maxInstances)
	heard := pipe.HGetAll(ctx, heardName)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	if before.Val() == 0 {
		r.renew()
	}
	live, err := r.alive(ctx, all.Val())
	if err != nil {
		return err
	}
	r.others.Store(&others{live, readHeard(heard.Val()), r.instance})
	return nil
}

// alive finds out which of the instances are alive, and takes away what the others have written. All are asked for at
// once: one after the other would take as many answers of Redis, and longer than a sign of life lasts where it is slow.
func (r *remote) alive(ctx context.Context, names []string) (map[string]bool, error) {
	pipe := r.client.Pipeline()
	there := map[string]*redis.IntCmd{}
	for _, other := range names {
		if len(other) <= maxField {
			there[other] = pipe.Exists(ctx, remotePrefix+"live:"+other)
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	live := map[string]bool{}
	for other, n := range there {
		if n.Val() > 0 {
			live[other] = true
		} else if err := r.tidy(ctx, other); err != nil {
			return nil, err
		}
	}
	return live, nil
}

// bury takes away what those have written that are no more. A full Redis takes no sign of life, so that showLife does
// not come to it, and nothing would make room.
func (r *remote) bury(ctx context.Context) {
	names, err := r.client.SRandMemberN(ctx, instancesName, maxInstances).Result()
	if err == nil {
		_, err = r.alive(ctx, names)
	}
	if err != nil {
		r.log.Debug("the shared index of KV blocks cannot be tidied up", "error", err)
	}
}

// keepAlive renews the sign of life among other work: writing or taking away a large copy takes longer than it lasts.
// One that is gone stays so, for showLife to see.
func (r *remote) keepAlive(ctx context.Context, pipe redis.Pipeliner) {
	pipe.PExpire(ctx, r.lifeName(), lifeTime)
}

// tidy takes away all that an instance has written. What is to be deleted is named until it is: Redis may go between.
func (r *remote) tidy(ctx context.Context, instance string) error {
	own := remotePrefix + "i:" + instance
	for {
		members, err := r.client.SRandMemberN(ctx, own, remoteBatch).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if len(members) == 0 {
			break
		}
		pipe := r.client.Pipeline()
		r.keepAlive(ctx, pipe)
		for _, member := range members {
			if name, field, ours := readMember(member); ours {
				pipe.HDel(ctx, name, field)
			}
			pipe.SRem(ctx, own, member)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	heard, err := r.client.HGetAll(ctx, heardName).Result()
	if err != nil {
		return err
	}
	pipe := r.client.Pipeline()
	for field, by := range heard {
		if by == instance {
			pipe.HDel(ctx, heardName, field)
		}
	}
	pipe.SRem(ctx, instancesName, instance)
	pipe.Del(ctx, remotePrefix+"live:"+instance)
	_, err = pipe.Exec(ctx)
	return err
}

// leave takes this sidecar's copy away.
func (r *remote) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := r.tidy(ctx, r.instance); err != nil {
		r.log.Debug("what was written to the shared index of KV blocks stays for the others to tidy up", "error", err)
	}
}
