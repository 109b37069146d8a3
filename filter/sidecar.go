package main

import "github.com/pintle-dev/pintle/internal/hostcalls"

// headerTenant tells the sidecar whose a conversation is.
const headerTenant = headersPrefix + "tenant"

// sidecarCall is a question for the sidecar, with the token.
func (p *plugin) sidecarCall(method, path string, body []byte, more ...[2]string) *hostcalls.Call {
	headers := [][2]string{{":method", method}, {":path", path}, {":authority", "pintle-sidecar"}}
	if p.token != "" {
		headers = append(headers, [2]string{"authorization", "Bearer " + p.token})
	}
	return &hostcalls.Call{
		Cluster: p.config.Sidecar.Cluster, Headers: append(headers, more...), Body: body,
		TimeoutMillis: uint32(p.config.Sidecar.Timeout.Milliseconds()),
	}
}
