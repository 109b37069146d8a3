package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// attackers is how many requests the attacker has under way at most: a tenth of the servers' slots.
const attackers = simCount * 32 / 10

var attackClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: attackers, DisableCompression: true}}

// freshConnections is a client that uses a connection for each request.
func freshConnections() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
}

// reply is an answer as far as attacks look at it.
type reply struct {
	status int
	// server answered; empty when it was Envoy.
	server string
}

// post sends a body and reads the answer. A client that leaves returns ctx's error.
func post(ctx context.Context, url, body string, header http.Header) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := attackClient.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return reply{response.StatusCode, response.Header.Get("X-Sim-Server")}, err
}

// leave sends a body and leaves after a time.
func leave(ctx context.Context, after time.Duration, url, body string) {
	ctx, cancel := context.WithTimeout(ctx, after)
	defer cancel()
	_, _ = post(ctx, url, body, nil) // nobody waits for the answer
}

// each runs so many workers, each again and again until ctx ends. Numbers are never given twice.
func each(ctx context.Context, workers int, pause time.Duration, once func(number int)) int {
	var mu sync.Mutex
	var all sync.WaitGroup
	next := 0
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next
	}
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				once(take())
				sleep(ctx, pause)
			}
		})
	}
	all.Wait()
	return next
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// words are so many bytes that no other number gives.
func words(number, length int) string {
	var b bytes.Buffer
	for b.Len() < length {
		fmt.Fprintf(&b, "%d.%d ", number, b.Len())
	}
	return b.String()[:length]
}
