package main

import (
	"github.com/pintle-dev/pintle/hostcalls"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// worker is what one VM, that is one Envoy worker thread, has to work with: memory that all plug-ins of the VM share.
//
// Memory for bodies is kept for good, however large. TinyGo's collector takes every word of the globals and the stack for a pointer if it
// can be one, so that a block of megabytes, once given up, is hardly ever found free again.
type worker struct {
	cycle       *scoring.Cycle
	request     openai.Request
	header      hostcalls.Buffer
	body        hostcalls.Buffer
	property    hostcalls.Buffer
	filterState hostcalls.FilterState
	destination []byte
	// addresses and patch are scratch memory for a header of addresses and for a changed body.
	addresses, patch []byte
	headerValues     []string
	one              [1]*scoring.Endpoint
	stats            stats
	idle             []*stream
}

var shared *worker

func theWorker() *worker {
	if shared == nil {
		shared = &worker{cycle: scoring.NewCycle(hostcalls.Seed()), stats: newStats()}
	}
	return shared
}

type stats struct {
	routed, passed, refused              hostcalls.Counter
	snapshotsAccepted, snapshotsRejected hostcalls.Counter
	decisionMicros                       hostcalls.Histogram
}

func newStats() stats {
	return stats{
		routed:            hostcalls.NewCounter("pintle.requests.routed"),
		passed:            hostcalls.NewCounter("pintle.requests.passed"),
		refused:           hostcalls.NewCounter("pintle.requests.refused"),
		snapshotsAccepted: hostcalls.NewCounter("pintle.snapshots.accepted"),
		snapshotsRejected: hostcalls.NewCounter("pintle.snapshots.refused"),
		decisionMicros:    hostcalls.NewHistogram("pintle.decision_us"),
	}
}
