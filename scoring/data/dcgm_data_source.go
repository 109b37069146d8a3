package data

import (
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// dcgmDataSource has the sidecar read what NVIDIA's DCGM exporter reports of the GPUs of each server, as well as the
// server's own metrics: at the pod's address, or at that of its node. The sidecar does so if it reads this document,
// too: pintle sidecar -plugins FILE. dcgm-extractor says what becomes of it.
//
// Missing data: a server whose exporter does not answer has no value until it does. With useNodeAddress a server whose
// node is not known, such as one that a file lists, has no value either.
//
// Source: llm-d, dcgm-data-source. There a value stays for ever once it was read.
type dcgmDataSource struct{ page *scoring.Page }

//lint:ignore U1000 it documents the parameters: others are read with those of every page
type dcgmDataSourceParameters struct {
	// Scheme is http or https.
	Scheme string
	// Path is the path of the exporter's page.
	Path string
	// Port is the exporter's port.
	Port int
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool
	// UseNodeAddress asks the exporter of the pod's node, as a DaemonSet runs it.
	UseNodeAddress bool
	// Interval is the time between two looks, at least 50 ms. 0: 1 s.
	Interval time.Duration
}

const dcgmPort = 9400

// NewDCGMDataSource builds a dcgm-data-source.
func NewDCGMDataSource(b *scoring.Builder) scoring.Plugin {
	port := dcgmPort
	b.Int("port", &port, 1, 65535)
	page := readPlainPage(b, "/metrics", port)
	b.Bool("useNodeAddress", &page.NodeAddress)
	return dcgmDataSource{page}
}

// FetchesData implements scoring.DataSource.
func (dcgmDataSource) FetchesData() {}

// AddTo implements scoring.DataPart.
func (s dcgmDataSource) AddTo(d *scoring.DataLayer) { d.GPU = s.page }
