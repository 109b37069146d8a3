package data

import (
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/scoring"
)

// modelsDataSource has the sidecar fetch the list of models that each server gives at /v1/models: Envoy asks for it
// when it takes a snapshot. The parameters say where an endpoint picker would look; they are checked, and of those that
// the sidecar does otherwise the operator is told.
//
// Source: Heimdall, models-data-source.
type modelsDataSource struct{}

type modelsDataSourceParameters struct {
	// Scheme is http or https.
	Scheme string
	// Path is the path of the list.
	Path string
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool
}

// modelsPath is where the sidecar reads the list.
const modelsPath = "/v1/models"

// NewModelsDataSource builds a models-data-source.
func NewModelsDataSource(b *scoring.Builder) scoring.Plugin {
	p := modelsDataSourceParameters{Scheme: "http", Path: modelsPath, InsecureSkipVerify: true}
	b.OneOf("scheme", &p.Scheme, "http", "https")
	b.String("path", &p.Path)
	b.Bool("insecureSkipVerify", &p.InsecureSkipVerify)
	switch {
	case !strings.HasPrefix(p.Path, "/"):
		b.Mistake("path", strconv.Quote(p.Path)+" does not begin with a slash")
	case p.Path != modelsPath:
		b.Warn("path has no effect: the sidecar reads " + modelsPath)
	}
	if p.Scheme == "https" {
		b.Warn("scheme and insecureSkipVerify have no effect: " +
			"how the servers are reached stands in the sidecar's configuration")
	}
	return modelsDataSource{}
}

// FetchesData implements scoring.DataSource.
func (modelsDataSource) FetchesData() {}
