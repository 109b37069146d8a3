package handlers

import (
	"strconv"

	"github.com/pintle-dev/pintle/scoring"
)

// dataParallelProfileHandler runs the only scheduling profile, for servers whose data-parallel ranks are endpoints with
// ports of their own, while requests come in through one port: the request goes to primaryPort of the chosen endpoint's
// host, and the header x-data-parallel-host-port tells the server there which rank was chosen. The header is removed
// from clients' requests.
//
// Source: llm-d, data-parallel-profile-handler.
type dataParallelProfileHandler struct{ port int }

type dataParallelProfileHandlerParameters struct {
	// PrimaryPort replaces the port of the chosen endpoint.
	PrimaryPort int
}

// NewDataParallelProfileHandler builds a data-parallel-profile-handler.
func NewDataParallelProfileHandler(b *scoring.Builder) scoring.Plugin {
	p := dataParallelProfileHandlerParameters{PrimaryPort: 8000}
	b.Int("primaryPort", &p.PrimaryPort, 1, 65535)
	if n := len(b.Profiles()); n != 1 {
		b.Mistake("", "data-parallel-profile-handler runs one scheduling profile, but there are "+strconv.Itoa(n))
	}
	b.OwnRequestHeader(headerDataParallel)
	return dataParallelProfileHandler{p.PrimaryPort}
}

// Next implements scoring.ProfileHandler.
func (dataParallelProfileHandler) Next(c *scoring.Cycle) (profile int, ok bool) {
	return 0, c.Result(0).State == scoring.NotRun
}

// Primary implements scoring.ProfileHandler.
func (dataParallelProfileHandler) Primary(*scoring.Cycle) int { return 0 }

// OnRouted implements scoring.RequestHook.
func (h dataParallelProfileHandler) OnRouted(c *scoring.Cycle) {
	c.SetRequestHeader(headerDataParallel, c.Result(0).Picked[:1])
	c.SetPrimaryPort(h.port)
}
