package data

import "github.com/pintle-dev/pintle/scoring"

// modelServerProtocolModels makes candidates model-aware: a request goes only to servers that list its model, and is answered with
// 404 model_not_found when none does. A server whose models are not known yet stays a candidate.
//
// Source: Heimdall, model-server-protocol-models; the 404 is Pintle's.
type modelServerProtocolModels struct{}

// NewModelServerProtocolModels builds a model-server-protocol-models. It has no parameters.
func NewModelServerProtocolModels(*scoring.Builder) scoring.Plugin {
	return modelServerProtocolModels{}
}

// ExtractsModels implements scoring.DataExtractor.
func (modelServerProtocolModels) ExtractsModels() bool { return true }
