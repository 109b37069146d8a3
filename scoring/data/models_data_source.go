package data

import "github.com/pintle-dev/pintle/scoring"

// modelsDataSource has the sidecar fetch the list of models that each server gives at /v1/models: Envoy asks for it
// when it takes a snapshot. In llm-d's dialect the sidecar fetches it where the parameters say, if it reads this
// document, too: pintle sidecar -plugins FILE. In Heimdall's dialect the parameters are checked, and the operator is
// told of those that have no effect.
//
// Source: Heimdall, models-data-source.
type modelsDataSource struct{ page *scoring.Page }

// modelsPath is where the sidecar reads the list.
const modelsPath = "/v1/models"

// NewModelsDataSource builds a models-data-source.
func NewModelsDataSource(b *scoring.Builder) scoring.Plugin {
	page := readPage(b, modelsPath, 0)
	if b.Defaults().Dialect == scoring.DialectLLMD {
		return modelsDataSource{page}
	}
	tellUnread(b, page, modelsPath, "the sidecar reads "+modelsPath)
	return modelsDataSource{}
}

// AddTo implements scoring.DataPart.
func (s modelsDataSource) AddTo(d *scoring.DataLayer) { d.Models = s.page }

// FetchesData implements scoring.DataSource.
func (modelsDataSource) FetchesData() {}
