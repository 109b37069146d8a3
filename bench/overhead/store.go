package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/stack"
)

const (
	historyBytes = 16 << 10
	turnPairs    = 400
)

// talker sends turns of a conversation.
type talker struct {
	client http.Client
	url    string
}

func newTalker(v *variant) *talker {
	return &talker{client: http.Client{Timeout: 10 * time.Second},
		url: "http://" + stack.Address(v.requestsPort) + "/v1/responses"}
}

// answered is what is needed of a response.
type answered struct {
	ID     string            `json:"id"`
	Output []json.RawMessage `json:"output"`
}

// say sends a request and says how long the whole answer took.
func (t *talker) say(ctx context.Context, request map[string]any) (a answered, took time.Duration, err error) {
	request["model"], request["max_output_tokens"] = "sim-model", 1
	body, err := json.Marshal(request)
	if err != nil {
		return a, 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return a, 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	began := time.Now()
	response, err := t.client.Do(r)
	if err != nil {
		return a, 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	took = time.Since(began)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	return a, took, err
}

func message(text string) map[string]any {
	return map[string]any{"type": "message", "role": "user", "content": text}
}

// writeTurns says how much longer a second turn takes that names the first than one that brings it along, one after the
// other.
func writeTurns(ctx context.Context, o options, all []*variant, out io.Writer, progress func(string)) error {
	whole, named := newTalker(all[0]), newTalker(all[1])
	history := strings.Repeat("once upon a time ", historyBytes/17)
	first, _, err := named.say(ctx, map[string]any{"input": history})
	if err != nil {
		return err
	}
	items := []any{message(history)}
	for _, item := range first.Output {
		items = append(items, item)
	}
	items = append(items, message("and then?"))
	byName := func() map[string]any { return map[string]any{"input": "and then?", "previous_response_id": first.ID} }
	for range 100 { // until the first turn is stored, and all is warm
		_, _, err = named.say(ctx, byName())
		if _, _, e := whole.say(ctx, map[string]any{"input": items}); e != nil {
			return e
		}
	}
	if err != nil {
		return err
	}
	var took [2]series.Series
	for pair := range turnPairs {
		if pair%50 == 0 {
			progress(fmt.Sprintf("second turns, %d of %d", pair, turnPairs))
		}
		for i := range 2 {
			which := (pair + i) % 2
			t, request := whole, map[string]any{"input": items}
			if which == 1 {
				t, request = named, byName()
			}
			_, d, err := t.say(ctx, request)
			if err != nil {
				return err
			}
			took[which] = append(took[which], float64(d.Microseconds())/1000)
		}
	}
	progress("")
	var more series.Series
	for i := range took[0] {
		more = append(more, took[1][i]-took[0][i])
	}
	low, high := more.Between()
	bar, where := 1.5, "memory"
	if o.redis != "" {
		bar, where = 2.5, "Redis"
	}
	verdict := "met"
	if more.Median() > bar {
		verdict = "not met"
	}
	fmt.Fprintf(out, "second turn with %d KB of history from %s: median %.2f ms, %.2f ms where the client sends it "+
		"all; median of %d differences %+.2f ms, with 95 %% confidence between %+.2f and %+.2f (bar: %.1f ms; %s)\n\n",
		historyBytes>>10, where, took[1].Median(), took[0].Median(), len(more), more.Median(), low, high, bar, verdict)
	return nil
}
