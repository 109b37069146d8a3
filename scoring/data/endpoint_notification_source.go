package data

import "github.com/pintle-dev/pintle/scoring"

// endpointNotificationSource tells a precise-prefix-cache-producer, an mm-embeddings-cache-producer or an
// inflight-load-producer of servers that come and go. They know by themselves: the plug-in has no effect.
//
// Source: llm-d, endpoint-notification-source.
type endpointNotificationSource struct{}

// NewEndpointNotificationSource builds an endpoint-notification-source.
func NewEndpointNotificationSource(*scoring.Builder) scoring.Plugin {
	return endpointNotificationSource{}
}

// FetchesData implements scoring.DataSource.
func (endpointNotificationSource) FetchesData() {}
