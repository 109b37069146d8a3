package push

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/file"
)

// Token holds the bearer token, which changes when its file does.
type Token struct{ token atomic.Pointer[string] }

// NewToken reads the token that the configuration has or names.
func NewToken(c *config.Config) (*Token, error) {
	token := c.Token
	if c.TokenFile != "" {
		var err error
		if token, err = config.ReadToken(c.TokenFile); err != nil {
			return nil, err
		}
	}
	s := &Token{}
	s.token.Store(&token)
	return s, nil
}

// Get returns the token.
func (s *Token) Get() string { return *s.token.Load() }

// Watch reads the token again whenever its file changes. A broken file leaves the last token in use.
func (s *Token) Watch(ctx context.Context, path string, log *slog.Logger) {
	file.Watch(ctx, path, func(content []byte, err error) {
		token := ""
		if err == nil {
			token, err = config.ParseToken(content)
		}
		if err != nil {
			log.Error("token file unusable; the last token stays in use", "file", path, "error", err)
			return
		}
		s.token.Store(&token)
	})
}
