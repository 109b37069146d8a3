package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// tooMany is more output than a server takes, so that it refuses with 400 and computes nothing.
const tooMany = 1_000_000_000

func giveUp(ctx context.Context, t *target) (string, []string, error) {
	n := each(ctx, attackers, 0, func(number int) {
		leave(ctx, 5300*time.Millisecond, t.url("/v1/chat/completions"),
			fmt.Sprintf(`{"model":"sim-model","max_tokens":4000,"messages":[{"role":"user","content":%q}]}`,
				words(number, 200)))
	})
	return fmt.Sprintf("%d requests, %d at a time, left after 5.3 s without a byte", n, attackers), nil, nil
}

func wipePrefixes(ctx context.Context, t *target) (string, []string, error) {
	salt := rand.Int()
	n := each(ctx, 4, 50*time.Millisecond, func(number int) {
		prompt, limit := words(salt+number, 16<<10), tooMany
		if number%2 == 0 {
			limit = 16
		}
		body := fmt.Sprintf(
			`{"model":"sim-model","stream":true,"max_tokens":%d,"messages":[{"role":"user","content":%q}]}`, limit,
			prompt)
		leave(ctx, 20*time.Millisecond, t.url("/v1/chat/completions"), body)
	})
	return fmt.Sprintf("%d prompts of 16 KB, refused by the server or left after 20 ms", n), nil, nil
}

func oneBody(ctx context.Context, t *target) (string, []string, error) {
	body := fmt.Sprintf(`{"model":"sim-model","user":"invented-%d","max_tokens":16,"prompt":[%s1]}`, rand.Int(),
		strings.Repeat("1,", 3<<20))
	leave(ctx, 500*time.Millisecond, t.url("/v1/completions"), body)
	return fmt.Sprintf("1 body of %d MB, left after 0.5 s", len(body)>>20), nil, nil
}

func inventUsers(ctx context.Context, t *target) (string, []string, error) {
	salt := rand.Int()
	n := each(ctx, attackers, 20*time.Millisecond, func(number int) {
		limit := 1
		if number%4 > 0 {
			limit = tooMany
		}
		body := fmt.Sprintf(`{"model":"sim-model","user":"invented-%d-%d","max_tokens":%d,"prompt":"hello"}`, salt,
			number, limit)
		leave(ctx, time.Second, t.url("/v1/completions"), body)
	})
	return fmt.Sprintf("%d requests, each of another user", n), nil, nil
}
