package main

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/snapshot"
)

// ingest takes snapshots as Envoy does, and measures how old the changes in them are.
type ingest struct {
	servers *servers
	server  http.Server

	mu     sync.Mutex
	posts  int
	delays []time.Duration
	load   snapshot.Load
}

func listen(port int, s *servers) (*ingest, error) {
	listener, err := net.Listen("tcp", stack.Address(port))
	if err != nil {
		return nil, err
	}
	i := &ingest{servers: s}
	i.server.Handler = i
	go func() { _ = i.server.Serve(listener) }()
	return i, nil
}

// ServeHTTP implements http.Handler.
func (i *ingest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := snapshot.Split(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	record, _, err := snapshot.Next(m.LoadRecord)
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil && i.load.Decode(record.Payload) == nil && len(i.load.Endpoints) == len(i.servers.all) {
		i.posts++
		for j := range i.load.Endpoints {
			// Names are padded, so that the topology's order is the servers'.
			if took, fresh := i.servers.all[j].seen(int(i.load.Endpoints[j].WaitingRequests)); fresh {
				i.delays = append(i.delays, took)
			}
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// take returns what was measured since it was last asked.
func (i *ingest) take() (posts int, delays []time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	posts, delays = i.posts, i.delays
	i.posts, i.delays = 0, nil
	return posts, delays
}
