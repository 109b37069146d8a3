package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/stack"
)

const (
	preciseModel   = "sim-model"
	preciseBlock   = 16
	preciseServers = 8
	// conversations are as many as there are whose turns are sent, turnBytes is what a turn adds to what was seen.
	conversations = 24
	turnBytes     = 300
)

// preciseBars are by how much a request may take longer at 16 KB than by the approximate index, in microseconds.
var preciseBars = map[string]map[string]float64{
	"inline":     {"seen": 1000, "unseen": 3000},
	"background": {"seen": 60, "unseen": 60},
}

// preciseVariants are the approximate scorer and both modes of the exact one. They come with the same tokenizer.
func preciseVariants(module, tokenizer string) []*variant {
	all := []*variant{{name: "approximate", document: profileOf("prefix-cache-scorer")}}
	for _, mode := range []string{"inline", "background"} {
		all = append(all, &variant{name: mode, precise: mode, tokenizer: tokenizer})
	}
	for _, v := range all {
		v.hold, v.module, v.alone = "pause", module, true
	}
	return all
}

func profileOf(kind string) string { return fmt.Sprintf(`{"plugins":[{"type":%q}]}`, kind) }

// preciseDocument is a document of the exact scorer alone, with the ports that the variant has got.
func preciseDocument(v *variant) string {
	text, err := json.Marshal(map[string]any{"plugins": []any{map[string]any{"type": "precise-prefix-cache-scorer",
		"parameters": map[string]any{"mode": v.precise,
			"tokenProcessorConfig": map[string]any{"blockSize": preciseBlock},
			"kvEventsConfig": map[string]any{"discoverPods": false,
				"zmqEndpoint": fmt.Sprintf("tcp://127.0.0.1:%d", v.eventsPort)},
			"indexerConfig": map[string]any{"tokenizersPoolConfig": map[string]any{"modelName": preciseModel,
				"local": map[string]any{"modelTokenizerMap": map[string]any{preciseModel: v.tokenizer}}}}}}}})
	if err != nil {
		panic(err) // it is made of texts
	}
	return string(text)
}

// sequel is one connection to an Envoy, over which requests follow each other.
type sequel struct {
	*variant
	conn   net.Conn
	reader *bufio.Reader
	took   series.Series // microseconds
}

func (s *sequel) send(request []byte) (took float64, err error) {
	if err := s.conn.SetDeadline(time.Now().Add(answerLimit)); err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := s.conn.Write(request); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(s.reader, nil)
	if err != nil {
		return 0, err
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0, err
	}
	took = float64(time.Since(began).Nanoseconds()) / 1000
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: got %s", s.name, response.Status)
	}
	return took, err
}

// runPrecise sends the same requests through all variants, one at a time, in another order each time, so that what the
// machine does strikes all alike, and says how much longer each took.
func runPrecise(ctx context.Context, o options, st *stack.Stack, out io.Writer, progress func(string)) error {
	progress("making a tokenizer")
	random := rand.New(rand.NewPCG(15, 1))
	words := newLanguage(random, 150_000)
	learnt := words.train(vocabularySize)
	tokenizer, err := learnt.write(st.Dir)
	if err != nil {
		return err
	}
	all := preciseVariants(o.module, tokenizer)
	o.instant = true
	if err := start(ctx, st, all, preciseServers, o.serverFlags()); err != nil {
		return err
	}
	engines, err := newEngines(all, tokenizer)
	if err != nil {
		return err
	}
	defer engines.close()
	var sequels []*sequel
	for _, v := range all {
		conn, err := net.Dial("tcp", stack.Address(v.requestsPort))
		if err != nil {
			return err
		}
		defer conn.Close()
		sequels = append(sequels, &sequel{variant: v, conn: conn, reader: bufio.NewReader(conn)})
	}
	fmt.Fprintf(out, "%d tokens in the vocabulary, %d merges; one request at a time, %v apart; %d of each kind\n\n",
		len(learnt.tokens), len(learnt.merges), o.gap, o.rounds)
	for _, size := range o.sizes {
		for _, kind := range []string{"seen", "unseen"} {
			p := &prompts{random: random, words: words, bytes: size << 10, seen: kind == "seen"}
			report := func(s string) { progress(fmt.Sprintf("%d KB, %s, %s", size, kind, s)) }
			before, err := costs(all)
			if err != nil {
				return err
			}
			if err := inTurns(ctx, o, sequels, p, engines, report); err != nil {
				return err
			}
			progress("")
			after, err := costs(all)
			if err != nil {
				return err
			}
			writePrecise(out, size, kind, sequels, before, after, p.number)
		}
	}
	return nil
}

// inTurns sends requests. Those of the first tenth do not count.
func inTurns(ctx context.Context, o options, all []*sequel, p *prompts, e *engines, progress func(string)) error {
	for _, s := range all {
		s.took = s.took[:0]
	}
	warm := max(o.rounds/10, 2*conversations)
	for i := range warm + o.rounds {
		if i%100 == 0 {
			progress(fmt.Sprintf("%d of %d", i, warm+o.rounds))
		}
		body := p.next()
		request := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\n"+
			"content-type: application/json\r\ncontent-length: %d\r\n\r\n%s", len(body), body)
		for _, k := range p.random.Perm(len(all)) {
			took, err := all[k].send(request)
			if err != nil {
				return err
			}
			if i >= warm {
				all[k].took = append(all[k].took, took)
			}
			if err := e.compute(ctx, all[k].variant, body, p.number); err != nil {
				return err
			}
			time.Sleep(o.gap)
		}
	}
	return ctx.Err()
}

// prompts makes up requests.
type prompts struct {
	random *rand.Rand
	words  *language
	bytes  int
	// seen has them go on in one of some conversations; else nothing of them was sent before.
	seen    bool
	started []string
	number  int
}

// next returns the next request: a system prompt, some turns, and a question that is new.
func (p *prompts) next() []byte {
	p.number++
	history := ""
	if p.seen {
		if len(p.started) < conversations {
			p.started = append(p.started, p.words.text(p.random, p.bytes))
		}
		history = p.started[p.number%len(p.started)]
	} else {
		history = p.words.text(p.random, p.bytes)
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var messages []message
	const parts = 7
	history = history[:p.bytes-turnBytes-parts*40-80]
	for i := range parts {
		role := []string{"system", "user", "assistant"}[min(i, 1+(i+1)%2)]
		messages = append(messages, message{role, history[i*len(history)/parts : (i+1)*len(history)/parts]})
	}
	messages = append(messages, message{"user", p.words.text(p.random, turnBytes)})
	body, err := json.Marshal(map[string]any{"model": preciseModel, "messages": messages, "max_tokens": 1})
	if err != nil {
		panic(err) // it is made of texts
	}
	return body
}

// cost is what processes have used, and what became of prompts.
type cost struct {
	envoy, sidecar time.Duration
	counters       map[string]int64
}

func costs(all []*variant) (found []cost, err error) {
	for _, v := range all {
		var c cost
		if c.envoy, err = v.envoy.CPU(); err != nil {
			return nil, err
		}
		if c.sidecar, err = v.sidecar.CPU(); err != nil {
			return nil, err
		}
		if c.counters, err = stack.Counters(v.envoyPort, "pintle.prefix"); err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, nil
}

func writePrecise(out io.Writer, size int, kind string, all []*sequel, before, after []cost, requests int) {
	fmt.Fprintf(out, "%-9s %-12s %9s %9s %9s   %-34s %-16s %10s %10s\n", fmt.Sprintf("%d KB", size), kind, "p50", "p90",
		"p99", "more than approximate: median", "bar", "Envoy", "sidecar")
	for i, s := range all {
		sorted := slices.Sorted(slices.Values(s.took))
		at := func(p int) float64 { return series.Percentile(sorted, p) }
		more, bar := "", ""
		if i > 0 {
			var d series.Series
			for j := range s.took {
				d = append(d, s.took[j]-all[0].took[j])
			}
			low, high := d.Between()
			more = fmt.Sprintf("%+.0f us (%s: %+.0f to %+.0f)", d.Median(), series.Bounds(len(d)), low, high)
			if most := preciseBars[s.name][kind]; size == 16 {
				bar = fmt.Sprintf("%.0f us %s", most,
					map[bool]string{true: "met", false: "not met"}[d.Median() <= most])
			}
		}
		each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(requests) }
		fmt.Fprintf(out, "%-9s %-12s %6.0f us %6.0f us %6.0f us   %-34s %-16s %7.0f us %7.0f us", "", s.name,
			at(50), at(90), at(99), more, bar,
			each(after[i].envoy-before[i].envoy), each(after[i].sidecar-before[i].sidecar))
		for _, name := range []string{"known", "none", "late", "failed", "handed", "skipped"} {
			if n := after[i].counters[name] - before[i].counters[name]; n > 0 {
				fmt.Fprintf(out, "  %s %d", name, n)
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
}
