//go:build browser

package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// chromium is a headless browser with one tab. It is spoken to by the DevTools protocol over a pair of pipes, which
// needs no port.
type chromium struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	session string
	last    int
}

func startChromium(t *testing.T) *chromium {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("chromium is missing: %v; build/setup.sh browser installs it", err)
	}
	commands, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--remote-debugging-pipe",
		"--no-first-run", "--disable-background-networking", "--user-data-dir="+t.TempDir(), "--window-size=1280,800",
		"about:blank")
	cmd.ExtraFiles = []*os.File{commands, answers} // descriptors 3 and 4, as the flag wants them
	process, err := stack.StartCommand("chromium", cmd)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = commands.Close(), answers.Close() // the child has its own
	t.Cleanup(func() {
		_ = in.Close() // the browser ends with its pipe
		select {
		case <-process.Done():
		case <-time.After(10 * time.Second):
			process.Kill()
		}
		_ = out.Close()
		if t.Failed() {
			t.Logf("Chromium:\n%s", process.Log())
		}
	})
	c := &chromium{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	var target struct {
		TargetID string `json:"targetId"`
	}
	c.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	c.session = attached.SessionID
	return c
}

// call sends one command and waits for its answer. Events are passed over.
func (c *chromium) call(method string, parameters, result any) {
	c.t.Helper()
	c.last++
	command := map[string]any{"id": c.last, "method": method, "params": parameters}
	if c.session != "" {
		command["sessionId"] = c.session
	}
	text, err := json.Marshal(command)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(text, 0)); err != nil {
		c.t.Fatal(err)
	}
	for {
		text, err := c.out.ReadBytes(0)
		if err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
		var answer struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &answer); err != nil {
			c.t.Fatal(err)
		}
		if answer.ID != c.last {
			continue
		}
		if answer.Error != nil {
			c.t.Fatalf("%s: %s", method, answer.Error)
		}
		if result == nil {
			return
		}
		if err := json.Unmarshal(answer.Result, result); err != nil {
			c.t.Fatal(err)
		}
		return
	}
}

func (c *chromium) open(url string) {
	c.t.Helper()
	c.call("Page.navigate", map[string]any{"url": url}, nil)
}

// wantNothingFromElsewhere checks that the page has loaded nothing but from an address.
func (c *chromium) wantNothingFromElsewhere(address string) {
	c.t.Helper()
	outside := c.text(
		fmt.Sprintf(
			`performance.getEntriesByType("resource").map(r => r.name).filter(n => !n.startsWith("http://%s/"))`,
			address))
	if outside != "" {
		c.t.Errorf("got resources from elsewhere: %s", outside)
	}
}

// text evaluates a JavaScript expression to a string.
func (c *chromium) text(expression string) string {
	c.t.Helper()
	var answer struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
	}
	c.call("Runtime.evaluate", map[string]any{"expression": "String(" + expression + ")", "returnByValue": true},
		&answer)
	return fmt.Sprint(answer.Result.Value)
}

// await waits until an expression is what it should be.
func (c *chromium) await(what, expression string, fits func(got string) bool) {
	c.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		got := c.text(expression)
		if fits(got) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("waited in vain: %s; %s is %q", what, expression, got)
		}
	}
}

func (c *chromium) screenshot() []byte {
	c.t.Helper()
	var answer struct {
		Data []byte `json:"data"`
	}
	c.call("Page.captureScreenshot", map[string]any{"format": "png"}, &answer)
	return answer.Data
}
