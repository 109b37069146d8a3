package deciders

import "github.com/pintle-dev/pintle/scoring"

// alwaysDisaggMultimodalDecider gives every request that holds an image, audio or video an encode stage: blocks of the
// types image_url, input_audio, audio_url or video_url, and their counterparts in the Responses and Messages APIs.
//
// Source: Heimdall, always-disagg-multimodal-decider.
type alwaysDisaggMultimodalDecider struct{}

// NewAlwaysDisaggMultimodalDecider builds an always-disagg-multimodal-decider. It has no parameters.
func NewAlwaysDisaggMultimodalDecider(*scoring.Builder) scoring.Plugin {
	return alwaysDisaggMultimodalDecider{}
}

// NeedsEncode implements scoring.EncodeDecider.
func (alwaysDisaggMultimodalDecider) NeedsEncode(c *scoring.Cycle, _ *scoring.Endpoint) bool {
	body := c.Request.Body
	return body != nil && (body.HasImage || body.HasAudio || body.HasVideo)
}
