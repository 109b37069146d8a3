//go:build vllm && linux

package vllm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/servers"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/scoring"
)

// families are the kinds of tokenizers that build/vllm/families.py makes.
var families = []string{"llama", "qwen", "gemma"}

// TestTokenFamilies: for each kind of tokenizer and 2,000 chats and completions, the tokens that the sidecar makes by
// the model's files are those of vLLM's /tokenize, and what it is told by vLLM's render endpoints is the same.
func TestTokenFamilies(t *testing.T) {
	var all []*engine
	var failures []error
	for _, name := range families {
		e, err := startRender(t, name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	for _, e := range all {
		failures = append(failures, e.await())
	}
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	for i, name := range families {
		t.Run(name, func(t *testing.T) { agrees(t, name, all[i]) })
	}
}

// startRender starts vLLM's server that renders prompts and has no model, for a kind of tokenizer.
func startRender(t *testing.T, name string) (*engine, error) {
	ports, err := harness.FreePorts(1)
	if err != nil {
		return nil, err
	}
	e := &engine{name: name, address: fmt.Sprintf("127.0.0.1:%d", ports[0]),
		log: filepath.Join(t.TempDir(), name+".log")}
	if _, err := os.Stat(family(name)); err != nil {
		return nil, errors.New(family(name) + " is missing; make e2e-vllm makes it")
	}
	t.Cleanup(e.stop)
	e.logOnFailure(t)
	return e, e.run([]string{filepath.Join(harness.Root(), "build", "vllm", "render.py"), "launch", "render",
		family(name), "--served-model-name", model, "--host", "127.0.0.1", "--port", e.port(),
		"--enable-auto-tool-choice", "--tool-call-parser", "hermes"})
}

// family is the folder of a kind of tokenizer.
func family(name string) string { return filepath.Join(home(), "families", name) }

// agrees compares the three ways to a prompt's tokens.
func agrees(t *testing.T, name string, e *engine) {
	nobody := &servers.Asked{}
	local := servers.LocalTokens(t, model, filepath.Join(family(name), "tokenizer.json"), nobody)
	url := "http://" + e.address
	remote := servers.NewTokens(t, &scoring.TokenBackend{Kind: scoring.TokensOfEngine, Workers: servers.TokenClients},
		&servers.Asked{Servers: []tokens.Server{{URL: url, Client: direct}}})
	rendered := servers.NewTokens(t, &scoring.TokenBackend{Kind: scoring.TokensRendered, URL: url, Model: model,
		Timeout: 30 * time.Second, MediaTimeout: 30 * time.Second, Workers: servers.TokenClients}, nobody)
	compareTokens(t, 16, nobody, local, remote, rendered)
}
