//go:build browser

package browser

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestGatewaysPage: a sidecar shows the other gateways, how late it knows of their decisions and of how many, and what
// it refused.
func TestGatewaysPage(t *testing.T) {
	valkey := harness.StartValkey(t)
	server := modelServer(t, func() string { return page(1, "0.42") })
	join := func(name string) (gateway, string) {
		g := gateway{harness.NewGateway(t)}
		return g, start(t, g.URL, fmt.Sprintf("{name: 'default/vllm-0', address: '%s'}", server),
			fmt.Sprintf("replicate: {redis: 'redis://%s', gateway: '%s'}", valkey.Address, name))
	}
	_, admin := join("west")
	east, _ := join("east")
	c := startChromium(t)
	c.open("http://" + admin + "/")
	const heard = `document.querySelector("#gateways").innerText`
	c.await("the other gateway", heard, matches(`^east\t(now|\d s ago)\t\d+ ms\t0\t0\s*$`))
	c.await("no trouble", `document.querySelector("#gateway").className`, matches(`^$`))
	for range 3 {
		east.write(time.Second, request{model: "llama-3.1-8b", endpoint: "default/vllm-0", open: true})
	}
	c.await("what it decided", heard, matches(`^east\t(now|\d s ago)\t\d+ ms\t3\t0\s*$`))

	client := valkey.Client()
	defer client.Close()
	entry := &redis.XAddArgs{Stream: "pintle", Values: []any{"e", "poison"}}
	if err := client.XAdd(t.Context(), entry).Err(); err != nil {
		t.Fatal(err)
	}
	const told = `document.querySelector("#gateway").innerText`
	c.await("what was refused", told, matches(`^of west, 1 refused: (torn|foreign)$`))
	c.await("that it is trouble", `document.querySelector("#gateway").className`, matches(`^bad$`))
	valkey.Kill()
	c.await("that the stream is gone", told, matches(`^of west, stream: .+, 1 refused`))
}

func matches(pattern string) func(got string) bool { return regexp.MustCompile(pattern).MatchString }
