package responses

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// slowBackend takes its time to find that it had nothing when it was asked.
type slowBackend struct {
	Backend
	takes time.Duration
	says  error
}

func (s *slowBackend) Get(context.Context, string) (*Entry, error) {
	time.Sleep(s.takes)
	return nil, s.says
}

// TestLateTurnBehindASlowTier: what comes while the second tier is asked for it is found, however long that takes.
func TestLateTurnBehindASlowTier(t *testing.T) {
	second := fmt.Errorf("%w: %w", errSecond, errors.New("down"))
	for _, test := range []struct {
		name  string
		takes time.Duration
		says  error
		comes bool
		want  int
	}{
		{"the second tier is quick", time.Millisecond, ErrUnknown, true, 200},
		{"it takes longer than the grace", 2 * missGrace, ErrUnknown, true, 200},
		{"it fails in the end", 2 * missGrace, second, true, 200},
		{"nothing comes", 2 * missGrace, ErrUnknown, false, 404},
		{"nothing comes, and it fails", 2 * missGrace, second, false, 503},
		{"the first tier fails", 2 * missGrace, errors.New("redis: gone"), true, 503},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := open(t, memoryOf(3, 1<<20))
				c.s.grace = missGrace
				c.s.backend = &slowBackend{c.s.backend, test.takes, test.says}
				go func() {
					time.Sleep(5 * time.Millisecond)
					if test.comes {
						c.store("", `"a"`, answer("r1", "b"))
					}
				}()
				c.want(test.want, "GET", "history/r1")
			})
		})
	}
}
