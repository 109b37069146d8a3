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
	// Roles chooses whose labels and roles count: heimdall or llm-d. When it is not given, the document's dialect does.
	Roles string
}

// newRoleFilter reads the parameters that role filters share. roles are those of a dialect that pass.
func newRoleFilter(b *scoring.Builder, roles func(*scoring.Defaults) []string, allowNone bool) roleFilter {
	p := roleParameters{}
	b.OneOf("roles", &p.Roles, scoring.NameHeimdall, scoring.NameLLMD)
	d := b.Defaults()
	if p.Roles != "" {
		d = scoring.DefaultsOf(scoring.DialectNamed(p.Roles))
	}
	return roleFilter{d.RoleLabel, roles(d), allowNone}
}

// Keep implements scoring.Filter.
func (f roleFilter) Keep(_ *scoring.Cycle, e *scoring.Endpoint) bool {
	role, ok := e.Label(f.label)
	if !ok {
		return f.allowNone
	}
	return slices.Contains(f.roles, role)
}
