package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/bench/peers/router"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/internal/stack"
)

// Conversations of so many turns, some with the same system prompt, whose turns come through any gateway.
const (
	conversations = 48
	turns         = 8
	systems       = 6
	systemWords   = 700
	turnWords     = 120
	thinkTime     = 400 * time.Millisecond
	sessionHosts  = 8
)

// leastCached is the bar: what several gateways find cached over what one finds.
const leastCached = 0.98

// compareSessions has conversations come through one gateway and through several, which share what they know or do
// not: Pintle's, and those of smg with its mesh and without.
func compareSessions(ctx context.Context, o options, folder string, valkey *harness.Valkey) error {
	fmt.Printf("%-22s %18s %20s %8s\n", "", "follow-ups cached", "busiest over mean", "failed")
	var figures [6][]sessionFigures
	names := []string{"Pintle, 1", fmt.Sprintf("Pintle, %d as one", o.gateways),
		fmt.Sprintf("Pintle, %d apart", o.gateways), "smg, 1",
		fmt.Sprintf("smg, %d with mesh", o.gateways), fmt.Sprintf("smg, %d apart", o.gateways)}
	compared := len(names)
	if o.alone {
		compared = 3
	}
	for range o.sessions {
		for i := range compared {
			count := o.gateways
			if i%3 == 0 {
				count = 1
			}
			servers, err := sessionServers()
			if err != nil {
				return err
			}
			var figure sessionFigures
			if i < 3 {
				redis := valkey.Address
				if i != 1 {
					redis = ""
				}
				figure, err = pintleSessions(ctx, folder, redis, count, servers)
			} else {
				figure, err = smgSessions(ctx, folder, count, i == 4, servers)
			}
			closeAll(servers)
			if err != nil {
				return fmt.Errorf("%s: %w", names[i], err)
			}
			figures[i] = append(figures[i], figure)
		}
	}
	of := func(f sessionFigures) float64 { return f.cached }
	for i, name := range names[:compared] {
		cached := series.Of(figures[i], of)
		busiest := series.Of(figures[i], func(f sessionFigures) float64 { return f.busiest })
		failed := series.Of(figures[i], func(f sessionFigures) float64 { return float64(f.failed) })
		fmt.Printf("%-22s %6.3f %s %8.2f %s %8.0f\n", name, cached.Median(), cached.Spread("%.3f"), busiest.Median(),
			busiest.Spread("%.2f"), failed.Median())
	}
	ratios := series.Of(figures[1], of).Over(series.Of(figures[0], of))
	fmt.Printf("%d as one over one: %.3f %s (bar: %.2f)\n", o.gateways, ratios.Median(), ratios.Spread("%.3f"),
		leastCached)
	if !(ratios.Median() >= leastCached) { // nor is it where nothing was answered
		return fmt.Errorf("gateways as one find %.3f of what one finds cached", ratios.Median())
	}
	return nil
}

func sessionServers() (all []*harness.Server, err error) {
	for i := range sessionHosts {
		s, err := harness.NewServer(sim.Config{Name: fmt.Sprintf("sim-%d", i), Blocks: 1 << 14,
			PrefillTokensPerSecond: 8000, TimePerOutputToken: 20 * time.Millisecond, Speed: 2})
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func pintleSessions(ctx context.Context, folder, redis string, count int, servers []*harness.Server) (sessionFigures,
	error) {
	all, err := startGateways(count, folder, redis, json.RawMessage(shipped.JSON()), servers)
	if err != nil {
		return sessionFigures{}, err
	}
	defer stopAll(all)
	var urls []string
	for _, g := range all {
		urls = append(urls, g.envoy.URL("requests", ""))
	}
	return converse(ctx, urls, servers)
}

func smgSessions(ctx context.Context, folder string, count int, mesh bool, servers []*harness.Server) (f sessionFigures,
	err error) {
	packages, err := harness.PythonPackages("bench/peers/requirements/smg.txt")
	if err != nil {
		return f, err
	}
	first, err := stack.FreePorts(3 * count)
	if err != nil {
		return f, err
	}
	var urls, addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.Address)
	}
	for i := range count {
		port := first + 3*i
		args := []string{"python3", "-c", router.SMG, "--log-level", "warn"}
		if mesh {
			args = append(args, "--enable-mesh", "--mesh-server-name", fmt.Sprint("gateway-", i), "--mesh-host",
				"127.0.0.1", "--mesh-port", fmt.Sprint(port+2))
			if i > 0 { // who knows one hears of all
				args = append(args, "--mesh-peer-urls", fmt.Sprintf("127.0.0.1:%d", first+2))
			}
		}
		args = append(args, router.Flags(port, port+1, "cache_aware", addresses)...)
		p, err := harness.StartChild("smg", folder, "/usr/bin/env", []string{"PYTHONPATH=" + packages,
			"TOKIO_WORKER_THREADS=2", "RAYON_NUM_THREADS=1"}, args...)
		if err != nil {
			return f, err
		}
		defer p.Kill()
		urls = append(urls, "http://"+stack.Address(port))
	}
	if mesh {
		time.Sleep(5 * time.Second) // until they know each other
	}
	return converse(ctx, urls, servers)
}

// sessionFigures is what became of the conversations.
type sessionFigures struct {
	cached, busiest float64
	failed          int
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// converse has all conversations at once, each turn through any gateway.
func converse(ctx context.Context, urls []string, servers []*harness.Server) (f sessionFigures, err error) {
	for _, url := range urls {
		if err := awaitAnswer(ctx, url); err != nil {
			return f, err
		}
	}
	before := received(servers)
	var mu sync.Mutex
	var prompt, cached int64
	var running sync.WaitGroup
	for c := range conversations {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(c), 1)) // the same for all that are compared
			time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
			said := []message{{"system", words(fmt.Sprint("system", c%systems), systemWords)}}
			for turn := range turns {
				said = append(said, message{"user", words(fmt.Sprint("conversation", c, "turn", turn), turnWords)})
				text, ok := chat(ctx, urls[random.IntN(len(urls))], said)
				said = append(said, message{"assistant", gjson.Get(text, "choices.0.message.content").String()})
				mu.Lock()
				if !ok {
					f.failed++
				} else if turn > 0 {
					prompt += gjson.Get(text, "usage.prompt_tokens").Int()
					cached += gjson.Get(text, "usage.prompt_tokens_details.cached_tokens").Int()
				}
				mu.Unlock()
				time.Sleep(thinkTime/2 + time.Duration(random.Int64N(int64(thinkTime))))
			}
		})
	}
	running.Wait()
	after := received(servers)
	sum, most := 0.0, 0.0
	for i := range after {
		sum, most = sum+after[i]-before[i], max(most, after[i]-before[i])
	}
	f.cached, f.busiest = float64(cached)/float64(prompt), most*float64(len(after))/sum
	return f, ctx.Err()
}

// words is a text that no other seed has.
func words(seed string, n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "%s-%d ", seed, i)
	}
	return text.String()
}

func chat(ctx context.Context, url string, said []message) (text string, ok bool) {
	body, err := json.Marshal(map[string]any{"model": "sim-model", "messages": said, "max_tokens": 12})
	if err != nil {
		return "", false
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", false
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", false
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	return string(all), err == nil && response.StatusCode == http.StatusOK
}

// awaitAnswer waits until a gateway answers.
func awaitAnswer(ctx context.Context, url string) error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && ctx.Err() == nil; {
		if _, ok := chat(ctx, url, []message{{"user", "hello"}}); ok {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return fmt.Errorf("%s does not answer", url)
}

// received is how many requests each server has had.
func received(servers []*harness.Server) (all []float64) {
	for _, s := range servers {
		all = append(all, float64(s.Count()))
	}
	return all
}
