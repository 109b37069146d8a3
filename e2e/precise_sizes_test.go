package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// TestPreciseBlockSizes: what servers with blocks of other sizes have of a prompt is compared by its length, not by the
// number of blocks. They tell their sizes with their events, and the document says that of the one.
func TestPreciseBlockSizes(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{"default/short": 16, "default/long": 64}
	c := newCachesOf(t, exactly(nil, ""), sim.Config{Name: "default/short", BlockTokens: sizes["default/short"]},
		sim.Config{Name: "default/long", BlockTokens: sizes["default/long"]})
	c.follow(exactly(nil, ""), c.URL("ingest", harness.IngestPath), c.prefix)
	short, long := c.servers[0], c.servers[1]
	for i, test := range []struct {
		name                  string
		shortBytes, longBytes int // of the text that each has seen
		want                  *harness.Server
	}{
		{"more tokens in fewer blocks", 440, 600, long},
		{"more tokens in more blocks", 900, 600, short},
	} {
		text := strings.Repeat(fmt.Sprintf("conversation %d, ", i), 100)[:1000]
		c.tell(short, chatPath, chatOf(text[:test.shortBytes]))
		c.tell(long, chatPath, chatOf(text[:test.longBytes]))
		c.wantTruth(chatOf(text))
		had := c.truth(chatOf(text))
		if had[short.Name] <= had[long.Name] || (had[short.Name]*sizes[short.Name] > had[long.Name]*sizes[long.Name]) !=
			(test.want == short) {
			t.Fatalf("%s: the servers have the blocks %v, which is another case", test.name, had)
		}
		got := c.send(chatOf(text))
		explained := got.Header.Get("X-Pintle-Explain")
		if got.Server() != test.want.Name || !strings.Contains(explained, `"prefix":{"state":"known"`) {
			t.Errorf("%s: got %d from %s, want %s, as of the blocks %v of %v tokens: %s", test.name, got.Status,
				got.Server(), test.want.Name, had, sizes, explained)
		}
	}
}
