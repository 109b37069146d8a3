package sim

import (
	"fmt"
	"net/http"
	"strconv"
)

// anyRank is the rank of a request that does not say which one it wants.
const anyRank = -1

// newCaches makes the cache of each rank.
func newCaches(config Config) []*kvCache {
	all := make([]*kvCache, config.Ranks)
	for i := range all {
		all[i] = newKVCache(config.Blocks, config.BlockTokens, config.OffloadBlocks)
	}
	return all
}

// chooseRank has requests that do not say which rank they want go to all in turn.
func (e *engine) chooseRank(s *sequence) {
	if s.rank == anyRank {
		s.rank = e.turn % len(e.caches)
		e.turn++
	}
}

// fullRanks are those that had no room for a request.
type fullRanks struct {
	is [maxRanks]bool
	n  int
}

func (f *fullRanks) has(rank int) bool { return f.is[rank] }

func (f *fullRanks) add(rank int) {
	f.is[rank] = true
	f.n++
}

// rankOf is the rank that a request wants. As in vLLM what is no number says nothing.
func (s *Server) rankOf(r *http.Request) (int, *apiError) {
	said := r.Header.Get("X-Data-Parallel-Rank")
	rank, err := strconv.Atoi(said)
	if err != nil {
		return anyRank, nil
	}
	if rank < 0 || rank >= s.config.Ranks {
		return 0, badRequest("data_parallel_rank",
			fmt.Sprintf("data_parallel_rank %d: want 0 to %d", rank, s.config.Ranks-1))
	}
	return rank, nil
}

// found is how many blocks of a prompt's head a rank has, and how many of those in the CPU's memory alone.
type found struct {
	Blocks    int `json:"blocks"`
	Offloaded int `json:"offloadedBlocks"`
}

// find says for each rank what it has of a prompt.
func (e *engine) find(hashes []uint64) []found {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]found, len(e.caches))
	for i, c := range e.caches {
		all[i].Blocks = c.known(hashes)
		for _, hash := range hashes[:all[i].Blocks] {
			if c.cached[hash] == nil {
				all[i].Offloaded++
			}
		}
	}
	return all
}
