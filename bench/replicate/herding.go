package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	bursts    = 12
	burstSize = 40
)

// herding sends bursts of requests through all gateways in turn, and returns how many requests of one the busiest
// server got over the mean of all servers: the mean over bursts whose requests come at once, and over those that take
// half a second to come.
func herding(all []*gateway) (most [2]float64, err error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: burstSize}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	for i, within := range []time.Duration{0, 500 * time.Millisecond} {
		for range bursts {
			busiest, err := burst(client, all, within)
			if err != nil {
				return most, err
			}
			most[i] += busiest / bursts
			time.Sleep(200 * time.Millisecond) // until all gateways know that it is over
		}
	}
	return most, nil
}

func burst(client *http.Client, all []*gateway, within time.Duration) (busiest float64, err error) {
	var mu sync.Mutex
	var running sync.WaitGroup
	got := map[string]int{}
	for n := range burstSize {
		running.Go(func() {
			time.Sleep(within * time.Duration(n) / burstSize)
			server, failure := complete(client, all[n%len(all)].envoy.URL("requests", "/v1/completions"))
			mu.Lock()
			defer mu.Unlock()
			if failure != nil {
				err = failure
			}
			got[server]++
		})
	}
	running.Wait()
	most := 0
	for _, n := range got {
		most = max(most, n)
	}
	return float64(most*modelServers) / burstSize, err
}

// complete has a prompt completed, in 64 tokens, and returns which server did it.
func complete(client *http.Client, url string) (server string, err error) {
	response, err := client.Post(url, "application/json",
		strings.NewReader(`{"model":"sim-model","prompt":"hello","max_tokens":64}`))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("a request of a burst was answered with %s", response.Status)
	}
	return response.Header.Get("X-Sim-Server"), err
}
