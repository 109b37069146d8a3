package main

import (
	"context"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// attack is one way to be hostile.
type attack struct {
	name, about string
	// document is the EndpointPickerConfig that the attack is about; empty is the shipped one.
	document string
	// hostile exchanges servers for hostile ones.
	hostile func([]stack.Endpoint) error
	// least is how long the attack needs.
	least time.Duration
	// mayLose is the part of the others' requests that may fail.
	mayLose float64
	// freshConnections has the others use a connection for each request.
	freshConnections bool
	// changesStack says that it changes servers or Envoy itself.
	changesStack bool
	// run attacks until ctx ends. It returns what it did, and what it reached that nobody may reach.
	run func(ctx context.Context, t *target) (tried string, leaks []string, err error)
}

func (a attack) ownStack() bool { return a.document != "" || a.hostile != nil || a.changesStack }

// byFairness is a configuration that counts what users took.
const byFairness = `{"plugins": [{"type": "vtc-basic"}, {"type": "max-score-picker"}], "schedulingProfiles": [{"name": "default",` +
	` "plugins": [{"pluginRef": "vtc-basic"}, {"pluginRef": "max-score-picker"}]}]}`

var attacks = []attack{
	{name: "control", about: "no attack at all: what the machine itself does to the others", run: doNothing},
	{name: "give-up", about: "clients that leave after 5.3 s without an answer", least: 16 * time.Second, run: giveUp},
	{name: "prefixes", about: "prompts that no server computes, to push others out of the prefix index",
		run: wipePrefixes},
	{name: "one-body", about: "one body of 6 MB of token ids from an invented user, against vtc-basic",
		document: byFairness, run: oneBody},
	{name: "users", about: "invented users, against vtc-basic", document: byFairness, run: inventUsers},
	{name: "held-bodies", about: "uploads of 30 MB that never end", run: holdBodies},
	{name: "tricks", about: "paths and encodings that may hide a request from the filter, and management paths",
		run: trick},
	{name: "headers", about: "headers that steer disaggregation or name a destination", run: forgeHeaders},
	{name: "guess", about: "a tenant who tells by times what another one has asked", document: byTenants(), run: guess},
	{name: "hang", about: "a server that hangs while its page says idle", mayLose: 0.05, least: 12 * time.Second,
		changesStack: true, run: hang},
	{name: "page", about: "a server with a hostile metrics page", hostile: hostilePage, run: showPage},
	{name: "hot-restart", about: "Envoy restarts hot", freshConnections: true, changesStack: true,
		least: 12 * time.Second, run: hotRestart},
}

func doNothing(ctx context.Context, _ *target) (string, []string, error) {
	<-ctx.Done()
	return "nothing", nil, nil
}
