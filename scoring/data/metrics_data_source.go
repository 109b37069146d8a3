package data

import "github.com/pintle-dev/pintle/scoring"

// metricsDataSource says where the servers' metrics are. The sidecar reads them there if it reads this document, too:
// pintle sidecar -plugins FILE. Without the plug-in it reads them where its own configuration says, or by its defaults.
// Under the name of its type it counts without being listed in dataLayer, too, unless injectDefaults is false there. In
// Heimdall's dialect the sidecar takes nothing of it: the parameters are checked, and the operator is told of those
// that have no effect.
//
// Source: llm-d, metrics-data-source. There one that is declared under another name than its type is read in addition
// to the default one, so that every server is read twice; here it replaces it.
type metricsDataSource struct{ page *scoring.Page }

// metricsPath is where servers have their metrics.
const metricsPath = "/metrics"

// NewMetricsDataSource builds a metrics-data-source.
func NewMetricsDataSource(b *scoring.Builder) scoring.Plugin {
	port := 0
	b.Int("port", &port, 1, 65535)
	page := readPage(b, metricsPath, port)
	if b.Defaults().Dialect != scoring.DialectLLMD {
		tellUnread(b, page, metricsPath, "where the metrics are stands in the sidecar's configuration")
	}
	return metricsDataSource{page}
}

// FetchesData implements scoring.DataSource.
func (metricsDataSource) FetchesData() {}

// AddTo implements scoring.DataPart.
func (s metricsDataSource) AddTo(d *scoring.DataLayer) { d.Metrics = s.page }
