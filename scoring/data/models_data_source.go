package data

import (
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/scoring"
)

// modelsDataSource stands for the list of models that each server gives at /v1/models. The sidecar fetches it; the parameters
// say where an endpoint picker would, and are checked here.
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

// NewModelsDataSource builds a models-data-source.
func NewModelsDataSource(b *scoring.Builder) scoring.Plugin {
	p := modelsDataSourceParameters{Scheme: "http", Path: "/v1/models", InsecureSkipVerify: true}
	b.OneOf("scheme", &p.Scheme, "http", "https")
	b.String("path", &p.Path)
	b.Bool("insecureSkipVerify", &p.InsecureSkipVerify)
	if !strings.HasPrefix(p.Path, "/") {
		b.Mistake("path", strconv.Quote(p.Path)+" does not begin with a slash")
	}
	return modelsDataSource{}
}

// FetchesData implements scoring.DataSource.
func (modelsDataSource) FetchesData() {}
