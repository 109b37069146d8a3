package data

import "github.com/pintle-dev/pintle/scoring"

// modelServerProtocolModels reads the names from the lists that models-data-source fetches. A server that lists models
// gets requests for no others, and a request whose model no server has is answered with 404 model_not_found; that holds
// however the models became known. A server whose models are not known yet gets all requests.
//
// Source: Heimdall, model-server-protocol-models; the 404 is Pintle's.
type modelServerProtocolModels struct{}

// NewModelServerProtocolModels builds a model-server-protocol-models. It has no parameters.
func NewModelServerProtocolModels(*scoring.Builder) scoring.Plugin {
	return modelServerProtocolModels{}
}

// ExtractsModels implements scoring.DataExtractor.
func (modelServerProtocolModels) ExtractsModels() bool { return true }
