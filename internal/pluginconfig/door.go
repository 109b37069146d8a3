package pluginconfig

import (
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// The requests that are refused by their headers alone.
var (
	connectRefused    = &scoring.Failure{Status: 405, Reason: "connect", Message: "CONNECT is not possible here"}
	managementRefused = &scoring.Failure{Status: 403, Reason: "management_path",
		Message: "the path manages a model server and is not open to clients"}
	encodedRefused = &scoring.Failure{Status: 415, Reason: "encoded_body",
		Message: "the request's body is encoded (content-encoding); send it as it is"}
)

// Closed says why a request is refused by its headers alone, nil if it is not. encoded is set when they say that its
// body is encoded in any way.
func (c *Config) Closed(method string, operation openai.Operation, encoded bool) *scoring.Failure {
	switch {
	case method == "CONNECT":
		return connectRefused
	case operation.Kind == openai.KindManagement && !c.PassManagement:
		return managementRefused
	case encoded && method == "POST" && operation.ReadsBody() && !c.PassUnreadable:
		return encodedRefused
	}
	return nil
}
