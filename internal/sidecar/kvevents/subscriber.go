package kvevents

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/scrape"
	"github.com/pintle-dev/pintle/internal/zmtp"
)

// Subscriber takes the events of all endpoints of a pool into an index.
type Subscriber struct {
	Config Config
	Index  *kvindex.Indexer
	Pool   *pool.Pool
	Log    *slog.Logger

	shared   *shared
	listener *listener
	// addresses has the endpoints' names by their addresses.
	addresses atomic.Pointer[map[string]string]

	mu       sync.Mutex
	followed map[string]*follower
}

// Open listens where the configuration says. Its errors name the key.
func (s *Subscriber) Open() error {
	if err := s.Config.Check(); err != nil {
		return err
	}
	s.followed = map[string]*follower{}
	s.addresses.Store(&map[string]string{})
	s.shared = &shared{filter: s.Config.TopicFilter, limits: limits,
		permits: make(chan struct{}, s.Config.Concurrency),
		allowed: s.allowed, dial: dial}
	if s.Config.ZMQEndpoint == "" {
		return nil
	}
	var err error
	s.listener, err = s.listen()
	return err
}

// Run follows the pool's endpoints until ctx ends.
func (s *Subscriber) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	if s.listener != nil {
		tasks.Go(func() { s.listener.run(ctx) })
	}
	changed := s.Pool.Watch()
	s.take(ctx)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-changed:
			s.take(ctx)
		}
	}
	s.mu.Lock()
	all := s.followed
	s.mu.Unlock()
	for _, f := range all {
		<-f.done
	}
	tasks.Wait()
}

// take follows the endpoints that there are now, and no others.
func (s *Subscriber) take(ctx context.Context) {
	g := s.Pool.Generation()
	if g == nil {
		return
	}
	there := map[string]*pool.Target{}
	addresses := map[string]string{}
	for _, t := range g.Targets {
		there[t.Name], addresses[t.Address] = t, t.Name
	}
	s.addresses.Store(&addresses)
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, f := range s.followed {
		if there[name] != f.target {
			s.leave(ctx, name, f)
		}
	}
	for name, t := range there {
		if s.followed[name] != nil {
			continue
		}
		f := &follower{target: t, done: make(chan struct{}), ranks: map[int]*subscription{}}
		var followed context.Context
		followed, f.stop = context.WithCancel(ctx)
		s.followed[name] = f
		go func() {
			defer close(f.done)
			s.follow(followed, f)
		}()
	}
}

// wants reports whether an endpoint is one to connect to. One that connects by itself is heard all the same.
func (s *Subscriber) wants(name string) bool {
	namespace, _, _ := strings.Cut(name, "/")
	return s.Config.PodNamespace == "" || s.Config.PodNamespace == namespace
}

// leave ends what follows an endpoint and forgets its entries.
func (s *Subscriber) leave(ctx context.Context, name string, f *follower) {
	delete(s.followed, name)
	f.stop()
	<-f.done
	if s.listener != nil {
		s.listener.drop(name)
	}
	if err := s.Index.Drop(ctx, name); err != nil {
		s.Log.Error("the index of KV blocks cannot be told that an endpoint is gone", "endpoint", name, "error", err)
	}
}

// sourcesTime bounds the look at where an endpoint publishes.
const sourcesTime = 2 * time.Second

// follow listens to the ranks of an endpoint until ctx ends.
func (s *Subscriber) follow(ctx context.Context, f *follower) {
	if !s.Config.DiscoverPods || !s.wants(f.target.Name) {
		<-ctx.Done()
		return
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for ctx.Err() == nil {
		if list, _, err := scrape.Page(ctx, f.target.Address, f.target.Access, modelsPath, sourcesTime); err == nil {
			s.Index.Serves(readModels(list))
		}
		said := s.own(f.target, s.sources(ctx, f.target))
		for rank, src := range said {
			f.mu.Lock()
			sub := f.ranks[rank]
			if sub == nil {
				sub = s.newSubscription(f.target.Name, rank)
				sub.source.Store(&src)
				f.ranks[rank] = sub
				sub.start(ctx, &tasks)
			}
			f.mu.Unlock()
			sub.source.Store(&src)
			sub.note(func(st *Status) { st.Address, st.Replay = src.address, src.replay })
		}
		f.cut(ctx, said)
		pace.Sleep(ctx, pace.Jitter(f.period(len(said) > 0)))
	}
}

func (s *Subscriber) newSubscription(endpoint string, rank int) *subscription {
	sub := &subscription{shared: s.shared, log: s.Log.With("endpoint", endpoint, "rank", rank),
		status: Status{Endpoint: endpoint, Rank: rank}}
	sub.stream = stream{index: s.Index, name: kvindex.Publisher{Endpoint: endpoint, Rank: rank}, counts: &counts{}}
	return sub
}

// sources asks an endpoint where its ranks publish, as vLLM and as SGLang have a page for it. One that has neither
// publishes where the configuration says; one that does not answer is asked again.
func (s *Subscriber) sources(ctx context.Context, t *pool.Target) map[int]source {
	address, err := netip.ParseAddrPort(t.Address)
	if err != nil {
		return nil
	}
	page, answered, err := scrape.Page(ctx, t.Address, t.Access, sourcesPath, sourcesTime)
	if err == nil {
		var all map[int]source
		if all, err = readSources(page, address); err == nil && len(all) > 0 {
			return all
		}
	}
	if !answered {
		return nil
	}
	page, answered, err = scrape.Page(ctx, t.Address, t.Access, serverInfoPath, sourcesTime)
	if err == nil {
		if all := readServerInfo(page, address, s.Config.ReplaySocketPort); len(all) > 0 {
			return all
		}
	}
	if !answered {
		return nil
	}
	return map[int]source{0: s.Config.configured(s.offset(t), address)}
}

// Now returns how it stands with all publishers, by endpoint and rank.
func (s *Subscriber) Now() []Status {
	var all []Status
	s.each(func(sub *subscription) { all = append(all, sub.now()) })
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Rank, b.Rank))
	})
	return all
}

// each calls f for each publisher, once: one that connects by itself need not be reached where it was looked for.
func (s *Subscriber) each(f func(*subscription)) {
	all := map[kvindex.Publisher]*subscription{}
	if s.listener != nil {
		for _, sub := range s.listener.all() {
			all[sub.stream.name] = sub
		}
	}
	s.mu.Lock()
	for _, one := range s.followed {
		one.mu.Lock()
		for _, sub := range one.ranks {
			if came := all[sub.stream.name]; came == nil || sub.now().Connected && !came.now().Connected {
				all[sub.stream.name] = sub
			}
		}
		one.mu.Unlock()
	}
	s.mu.Unlock()
	for _, sub := range all {
		f(sub)
	}
}

// Summary says in one line how it stands.
func (s *Subscriber) Summary() string {
	connected, all := 0, s.Now()
	for _, st := range all {
		if st.Connected {
			connected++
		}
	}
	stats := s.Index.Stats()
	return fmt.Sprintf("%d of %d publishers, %d blocks of %d keys", connected, len(all), stats.Entries, stats.Keys)
}

// Report logs Summary every so often until ctx ends.
func (s *Subscriber) Report(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.Log.Info("caches", "summary", s.Summary())
		}
	}
}

// limits bound what publishers send: a batch that stores a prompt of a million tokens has some 5 MB.
var limits = zmtp.Limits{Message: 8 << 20, Frames: 8}
