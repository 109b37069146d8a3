package config

import (
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

const (
	// Heartbeat is how often an Envoy hears from the sidecar at least, where push.interval is not longer.
	Heartbeat = 50 * time.Millisecond
	// longestPush leaves a sample half of the filter's stale.after, which is 2 s by default.
	longestPush = time.Second
	// staleAfter is the age at which the filter's saturation detector takes a sample for stale, by default.
	staleAfter = 200 * time.Millisecond
)

func (c *Config) readPush(o *strictjson.Object) {
	o.Duration("interval", &c.PushInterval, shortestPeriod)
	o.Close()
	if c.PushInterval > longestPush {
		o.Mistake("interval", c.PushInterval.String()+" leaves Envoys with stale samples; "+longestPush.String()+
			" or less is right")
	}
}

// OldSamples says that samples may be too old for the filter's saturation detector when Envoys see them, however fast
// the servers answer; empty when they are not.
func (c *Config) OldSamples() string {
	oldest := c.Scrape.IdleInterval + max(c.PushInterval, Heartbeat)
	if oldest < staleAfter {
		return ""
	}
	return fmt.Sprintf("with scrape.idleInterval %v and push.interval %v Envoys see samples of %v, and the saturation "+
		"detector takes one of %v for that of a full server; shorter intervals are right, or a longer "+
		"metricsStalenessThreshold", c.Scrape.IdleInterval, c.PushInterval, oldest, staleAfter)
}
