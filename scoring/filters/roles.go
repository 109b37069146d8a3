package filters

import (
	"slices"

	"github.com/pintle-dev/pintle/scoring"
)

// roleFilter keeps endpoints by the label that tells what part of disaggregated inference a server does.
type roleFilter struct {
	label     string
	roles     []string
	allowNone bool
}

type roleParameters struct {
	// Roles chooses whose labels and roles count: heimdall or llm-d.
	Roles string
}

// The label of either project.
const (
	labelHeimdall = "mif.moreh.io/role"
	labelLLMD     = "llm-d.ai/role"
)

// newRoleFilter reads the parameters that role filters share. heimdall and llmD are the roles that pass.
func newRoleFilter(b *scoring.Builder, heimdall, llmD []string, allowNone bool) roleFilter {
	p := roleParameters{Roles: "heimdall"}
	b.OneOf("roles", &p.Roles, "heimdall", "llm-d")
	if p.Roles == "llm-d" {
		return roleFilter{labelLLMD, llmD, allowNone}
	}
	return roleFilter{labelHeimdall, heimdall, allowNone}
}

// Keep implements scoring.Filter.
func (f roleFilter) Keep(_ *scoring.Cycle, e *scoring.Endpoint) bool {
	role, ok := e.Label(f.label)
	if !ok {
		return f.allowNone
	}
	return slices.Contains(f.roles, role)
}
