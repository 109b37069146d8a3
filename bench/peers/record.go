package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// record is one measurement, a line of the raw data. One of Cost, Idle and Choice is set.
type record struct {
	// Go is when the run of this program began: rounds of one go are compared with each other.
	Go     string  `json:"go"`
	Peer   string  `json:"peer"`
	Cost   *cost   `json:"cost,omitempty"`
	Idle   *idle   `json:"idle,omitempty"`
	Choice *choice `json:"choice,omitempty"`
}

// setting is before what, and by what, a peer's cost was measured.
type setting struct {
	Servers int `json:"servers"`
	// PageKB is how much longer the servers' metrics are than the families that gateways read.
	PageKB int `json:"pageKB"`
	KB     int `json:"KB"`
	// Events are those of a streamed answer, 0 for a whole one.
	Events int `json:"events"`
	// New is set where each prompt is one that nobody has seen.
	New bool `json:"new,omitempty"`
	// Rate is in requests/s, 0 for a closed loop, which has so many Connections.
	Rate        float64 `json:"rate"`
	Connections int     `json:"connections,omitempty"`
}

// cost is what a peer did in one round.
type cost struct {
	setting
	Round     int     `json:"round"`
	PerSecond float64 `json:"perSecond"`
	P50       float64 `json:"p50ms"`
	P99       float64 `json:"p99ms"`
	// CPU is the processor time of all its processes for a request.
	CPU    float64 `json:"cpuMsPerRequest"`
	Failed int64   `json:"failed"`
	// share and cpuShare are requests/s and CPU over Pintle's of the same round, NaN where it has none.
	share, cpuShare float64
}

// idle is what a peer needs while nobody asks.
type idle struct {
	Servers int     `json:"servers"`
	PageKB  int     `json:"pageKB"`
	Cores   float64 `json:"cores"`
	MB      float64 `json:"MB"`
}

// occasion is what was asked of which servers. Times and rates are the servers' own.
type occasion struct {
	Workload string  `json:"workload"`
	MadeUp   bool    `json:"madeUp,omitempty"`
	Fleet    string  `json:"fleet"`
	Rate     float64 `json:"rate"`
	Speed    float64 `json:"speed"`
}

// choice is what clients saw of a peer.
type choice struct {
	occasion
	// Seed says which of several traffics alike it was, the same for all peers.
	Seed     uint64 `json:"seed"`
	Requests int    `json:"requests"`
	// TTFT and Whole are the time to the first token and to the last one, in seconds, of the answers that came whole;
	// where there is none, how long the run took.
	TTFT  quantiles `json:"ttft"`
	Whole quantiles `json:"whole"`
	// Hits is the part of the prompts' tokens that was found in caches, Good that of the requests whose answer kept
	// goodTTFT and goodTPOT, Imbalance the busiest server's requests over an equal share.
	Hits      float64 `json:"hits"`
	Good      float64 `json:"good"`
	Imbalance float64 `json:"imbalance"`
	// Tokens are those of answers, a second.
	Tokens float64 `json:"tokensPerSecond"`
	Failed int     `json:"failed"`
}

type quantiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
}

// appendRaw appends records to the raw data, if it is kept.
func appendRaw(path string, records []record) error {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(file)
	for i := range records {
		err = errors.Join(err, encoder.Encode(&records[i]))
	}
	return errors.Join(err, file.Close())
}

// readRaw reads the records of a file.
func readRaw(path string) (all []record, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder := json.NewDecoder(bufio.NewReader(file))
	for {
		var r record
		if err := decoder.Decode(&r); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: record %d: %w", path, len(all)+1, err)
		}
		all = append(all, r)
	}
}

// relate has each cost know those of Pintle in its round.
func relate(records []record) {
	type round struct {
		run   string
		where setting
		n     int
	}
	base := map[round]*cost{}
	for i := range records {
		if r := &records[i]; r.Cost != nil && r.Peer == peers[0].name {
			base[round{r.Go, r.Cost.setting, r.Cost.Round}] = r.Cost
		}
	}
	for i := range records {
		r := &records[i]
		if r.Cost == nil {
			continue
		}
		r.Cost.share, r.Cost.cpuShare = math.NaN(), math.NaN()
		if own := base[round{r.Go, r.Cost.setting, r.Cost.Round}]; own != nil {
			r.Cost.share, r.Cost.cpuShare = r.Cost.PerSecond/own.PerSecond, r.Cost.CPU/own.CPU
		}
	}
}
