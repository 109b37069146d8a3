package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// hang has every server take requests and not answer them, until the function it returns is called.
func (f *fixture) hang(t *testing.T) (end func()) {
	t.Helper()
	set := func(mode string) {
		for _, s := range f.servers {
			response, err := http.Post("http://"+s.Address+"/sim/fail", "application/json",
				strings.NewReader(`{"mode":"`+mode+`"}`))
			if err != nil || response.StatusCode >= 300 {
				t.Fatalf("POST /sim/fail %s: %v, %v", mode, response, err)
			}
			_ = response.Body.Close()
		}
	}
	set("hang")
	return func() { set("none") }
}

// TestBurstSpreads: what was sent to a server counts there at once, for all workers, until the client leaves. Nothing
// is published meanwhile, so the metrics say that all servers are equal.
func TestBurstSpreads(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.Publish(t, f.pool("sim-0", "sim-1", "sim-2", "sim-3")...)
		defer f.hang(t)()
		for _, listener := range []string{"corrected", "active"} {
			// The second burst finds the first one's requests gone, though their clients left without an answer.
			for burst := range 2 {
				f.forget(t)
				ctx, leave := context.WithCancel(t.Context())
				var clients sync.WaitGroup
				for sent := 1; sent <= 3*len(f.servers); sent++ {
					client := harness.Client(t, false)
					request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL(listener, chatPath),
						strings.NewReader(chatBody))
					if err != nil {
						t.Fatal(err)
					}
					clients.Go(func() {
						if response, err := client.Do(request); err == nil {
							_ = response.Body.Close()
						}
					})
					harness.WaitFor(t, 10*time.Second, "a request to arrive", func() (bool, string) {
						n := len(f.received(""))
						return n == sent, fmt.Sprintf("%d of %d", n, sent)
					})
				}
				for _, s := range f.servers {
					if n := len(f.received(s.Name)); n != 3 {
						t.Errorf("%s, burst %d: %d requests at %s, want 3 at each server", listener, burst+1, n, s.Name)
					}
				}
				leave()
				clients.Wait()
				f.wantIdle(t)
			}
		}
	})
}

// TestPrefixSticks: prompts with the same beginning go to the server that has had it, whichever worker decides; others
// spread.
func TestPrefixSticks(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.Publish(t, f.pool()...)
		prompt := func(beginning, end string) string {
			return fmt.Sprintf(`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":%q}]}`,
				strings.Repeat(beginning, 200)+end)
		}
		send := func(body string) (server, explained string) {
			t.Helper()
			response, err := harness.Client(t, false).Post(f.URL("prefix", chatPath), "application/json",
				strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			_, _ = io.Copy(io.Discard, response.Body)
			return response.Header.Get("X-Sim-Server"), response.Header.Get("X-Pintle-Explain")
		}
		nonce := fmt.Sprintf("%s %d ", t.Name(), time.Now().UnixNano())
		servers := map[string]bool{}
		for i := range 12 {
			beginning := fmt.Sprint(nonce, i, " ")
			first, _ := send(prompt(beginning, ""))
			servers[first] = true
			for j := range 4 {
				if server, explained := send(prompt(beginning, fmt.Sprint("turn ", j))); server != first {
					t.Errorf("prompt %d went to %s and then to %s: %s", i, first, server, explained)
				}
			}
		}
		if len(servers) < 2 {
			t.Errorf("12 prompts all went to %v, want them spread", servers)
		}
	})
}

// TestColdPromptsTakeTurns: prompts that no server has seen go to each server once before one gets a second, whichever
// worker decides, and the next ones in the same order.
func TestColdPromptsTakeTurns(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.Publish(t, f.pool()...)
		n := len(f.servers)
		var order []string
		for i := range 4 * n {
			prompt := strings.Repeat(fmt.Sprint(t.Name(), time.Now().UnixNano(), i, " "), 50)
			body := fmt.Sprintf(`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":%q}]}`,
				prompt)
			got := harness.Send(t, harness.Client(t, i%2 == 1),
				harness.Request(t, http.MethodPost, f.URL("cold", chatPath), body, false))
			order = append(order, got.Server())
		}
		first := map[string]bool{}
		for _, server := range order[:n] {
			first[server] = true
		}
		if len(first) != n {
			t.Errorf("the first %d prompts went to %v, want each server once", n, order[:n])
		}
		for i := n; i < len(order); i++ {
			if order[i] != order[i-n] {
				t.Errorf("the prompts went to %v, want the first %d again and again", order, n)
				break
			}
		}
	})
}

// TestCachedPromptsNeedNoPrefill: a long prompt gets a prefill server the first time, and none when its decode server
// has it in the cache.
func TestCachedPromptsNeedNoPrefill(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		pool := f.roles("prefill", "prefill", "decode", "decode")
		f.Publish(t, pool...)
		for i := range 6 {
			// Whole blocks, whatever the size that the pools of tests before have asked for.
			prompt := strings.Repeat(fmt.Sprint(t.Name(), time.Now().UnixNano(), " "), 40)[:2048]
			body := fmt.Sprintf(`{"model":"sim-model","max_tokens":2,"prompt":%q}`, prompt)
			for turn, want := range []int{1, 0, 0} {
				got, r := f.sendTo(t, "warm", "/v1/completions", body, (i+turn)%2 == 1)
				wantStage(t, fmt.Sprintf("turn %d at %s", turn, got.Server()), r, stageHeaders[0],
					addressesOf(pool, "prefill"), want)
			}
			_, r := f.sendTo(t, "warm", "/v1/completions", strings.Replace(body, t.Name(), "another beginning", 1),
				false)
			wantStage(t, "another prompt", r, stageHeaders[0], addressesOf(pool, "prefill"), 1)
		}
	})
}
