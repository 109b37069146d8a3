package data

import "github.com/pintle-dev/pintle/scoring"

// dcgmExtractor makes an attribute of what dcgm-data-source reads: GPUUtilization, of the producer dcgm-extractor,
// which endpoint-attribute-scorer and -filter use. It has no parameters.
//
// Formula: the largest DCGM_FI_DEV_GPU_UTIL of the server's GPUs / 100. On a page of several pods those series count
// that have the pod's name and namespace in their labels pod and namespace; series without the labels count for any.
//
// Range: 0 to 1.
//
// Missing data: a page without such a series gives no value.
//
// Source: llm-d, dcgm-extractor, which does not look at namespaces. The attribute has that producer there, too,
// whatever the plug-in's own name is.
type dcgmExtractor struct{}

// gpuAttribute is what the extractor makes.
const gpuAttribute = "GPUUtilization/dcgm-extractor"

// NewDCGMExtractor builds a dcgm-extractor.
func NewDCGMExtractor(*scoring.Builder) scoring.Plugin { return dcgmExtractor{} }

// ExtractsModels implements scoring.DataExtractor.
func (dcgmExtractor) ExtractsModels() bool { return false }

// AddTo implements scoring.DataPart.
func (dcgmExtractor) AddTo(d *scoring.DataLayer) { d.GPUAttribute = gpuAttribute }
