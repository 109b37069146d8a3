package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/shipped"
)

// byTenants is the shipped configuration with the tenants apart in the servers' caches.
func byTenants() string {
	return shipped.With(map[string]any{"type": "tenant-cache-salt",
		"parameters": map[string]any{"tenantHeader": teamHeader, "secret": "known to the gateway alone"}})
}

const teamHeader = "x-team"

// guess plays a tenant who tries what another one may have asked, and takes for right what is answered soon. For each
// right guess there is a wrong one of the same length.
func guess(ctx context.Context, t *target) (string, []string, error) {
	const length = 4 << 10
	var right, wrong series.Series
	found, salt := 0, rand.IntN(1<<30)
	for number := 0; ctx.Err() == nil; number += 2 {
		secret, other := words(salt+number, length), words(salt+number+1, length)
		var took [3]float64
		var cached [3]int64
		var err error
		for i, asked := range []struct{ tenant, prompt string }{
			{"victim", secret}, {"attacker", secret}, {"attacker", other},
		} {
			if took[i], cached[i], err = askAs(ctx, t, asked.tenant, asked.prompt); err != nil {
				break
			}
		}
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return "", nil, err
		}
		sleep(ctx, 100*time.Millisecond) // others are not to notice
		right, wrong = append(right, took[1]), append(wrong, took[2])
		if cached[1] > 0 {
			found++
		}
	}
	if len(right) == 0 {
		return "", nil, errors.New("no guess was answered")
	}
	var leaks []string
	if found > 0 {
		leaks = append(leaks, fmt.Sprintf("%d of %d prompts of another tenant were found cached", found, len(right)))
	}
	tried := fmt.Sprintf("%d guesses: right ones took %.0f ms, wrong ones %.0f ms; of a right and a wrong one the "+
		"right one was answered sooner in %.0f %%", len(right), right.Median(), wrong.Median(),
		100*sooner(right, wrong))
	return tried, leaks, nil
}

// sooner is in which part of all pairs the first is less, half where they are equal: 0.5 tells nothing.
func sooner(first, second []float64) float64 {
	less := 0.0
	for _, a := range first {
		for _, b := range second {
			switch {
			case a < b:
				less++
			case a == b:
				less += 0.5
			}
		}
	}
	return less / float64(len(first)*len(second))
}

// askAs has one token made of a tenant's prompt, and returns how long that took in milliseconds and how many tokens of
// the prompt the server says it found cached.
func askAs(ctx context.Context, t *target, tenant, prompt string) (millis float64, cached int64, err error) {
	body := fmt.Sprintf(`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":%q}]}`, prompt)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url("/v1/chat/completions"),
		strings.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(teamHeader, tenant)
	began := time.Now()
	response, err := attackClient.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	took := time.Since(began)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return float64(took) / 1e6, gjson.GetBytes(text, "usage.prompt_tokens_details.cached_tokens").Int(), err
}
