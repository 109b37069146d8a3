package scrape

import (
	"bytes"
	"context"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// Page asks an endpoint once for another page of its. Answered is whether the endpoint is there and can answer, though
// it may have no such page.
func Page(ctx context.Context, address string, access *topology.Access, path string, timeout time.Duration) (
	page []byte, answered bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := newFetcher(ctx, address, access)
	defer f.close()
	f.aim(path, 0)
	var b bytes.Buffer
	if _, failure := f.fetch(ctx, time.Now().Add(timeout), &b); failure != nil {
		answered = failure.result == "status" && !failure.later || failure.result == "unauthorized"
		return nil, answered, failure
	}
	return b.Bytes(), true, nil
}
