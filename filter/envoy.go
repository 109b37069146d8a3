package main

import (
	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
)

// tellsWaiters is the first Envoy 1.x whose functions for plug-ins find the request that a callback of the plug-in's
// own, such as a tick, goes on with (envoyproxy/envoy pull request 42227).
const tellsWaiters = 37

// warnOfEnvoy says what the Envoy that the plug-in runs in cannot do of what it is configured for.
func (p *plugin) warnOfEnvoy() {
	if p.config.Hold != pluginconfig.HoldBuffer || p.config.Destination != pluginconfig.OriginalDst {
		return
	}
	const version = "xds\x00node\x00user_agent_build_version\x00version\x00"
	var b hostcalls.Buffer
	major, told := hostcalls.Number(&b, version+"major_number")
	minor, toldMinor := hostcalls.Number(&b, version+"minor_number")
	if told && toldMinor && major == 1 && minor < tellsWaiters {
		hostcalls.LogWarn("pintle: this Envoy is older than 1.37: with hold buffer and destination original-dst it " +
			"answers 503 to requests that have waited for the first snapshot or for an answer of the sidecar; take " +
			"destination override-host, or hold pause")
	}
}
