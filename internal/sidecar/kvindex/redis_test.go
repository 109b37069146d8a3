//go:build responses

package kvindex

import (
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestSharedInRedis is TestShared in a Redis, and what one sidecar hears there another one knows.
func TestSharedInRedis(t *testing.T) {
	server := filepath.Join(harness.Root(), "build", ".cache", "redis", "redis-server")
	t.Run("two sidecars", func(t *testing.T) {
		share(t, harness.StartRedis(t, server, "--save", "", "--appendonly", "no"))
	})
	t.Run("random events", func(t *testing.T) {
		v := harness.StartRedis(t, server, "--save", "", "--appendonly", "no")
		againstModel(t, newIndexer(t, Config{Redis: &RedisConfig{Address: v.Address}}).Index)
	})
}
