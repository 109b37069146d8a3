package producers

import (
	"math"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/precise"
)

// tokenProducer says how many tokens images and videos count as where prompts are cut into ids of 4 bytes: in
// approx-prefix-cache-producer, and where the length of a prompt is counted in llm-d's dialect. It takes part by being
// declared; without one its defaults hold. tokenizer is another name of it.
//
// Formula: an image is width x height / factor tokens, 1 at least. The size is its own where the body holds it as PNG,
// JPEG, GIF or WebP, and otherwise defaultResolution. A video is frames x tokens of a frame. With mode sampled there
// are duration x sampleFPS frames, from minFrames to maxFrames, divided by temporalPatchSize; with mode strided
// duration x defaultSourceFPS / frameStride, from minFrames to maxFrames. Audio is a token for each 4 bytes of its URL
// or data.
//
// Source: llm-d, token-producer, backend estimate. Its headers x-llm-d-video-*, which describe the videos of one
// request, have no effect here. Its other backends make a prompt's tokens: they serve the plug-ins that use what
// servers have in their caches, see precise-prefix-cache-scorer; the length of prompts stays estimated.
type tokenProducer struct{ backend *scoring.TokenBackend }

//lint:ignore U1000 it documents the parameters: they nest deeper than a struct is read
type tokenProducerParameters struct {
	// Estimate holds image {mode, defaultResolution {width, height}, dynamic {factor}, static {staticToken}} and video
	// {defaultResolution, defaultDuration, maxVideoTokens, frames {mode, minFrames, maxFrames, sampled {sampleFPS,
	// temporalPatchSize}, strided {defaultSourceFPS, frameStride}}, tokensPerFrame {mode, dynamic {factor}, static
	// {numTokensPerFrame}}}. The defaults make an image 225 tokens and a video 4,500.
	Estimate struct{}
	// Vllm is the backend that asks a server which renders prompts: url (http://localhost:8000), timeout (5s) and
	// mmTimeout (30s).
	Vllm struct{}
	// ModelName is the base model, which the other backends need.
	ModelName string
	// UdsTokenizerConfig is the backend that asks llm-d's tokenizer service: socketFile
	// (/tmp/tokenizer/tokenizer-uds.socket), which with useTCP is host:port, and modelTokenizerMap.
	UdsTokenizerConfig struct{}
}

// NewTokenProducer builds a token-producer.
func NewTokenProducer(b *scoring.Builder) scoring.Plugin {
	estimate := scoring.DefaultMedia
	o := b.Object.Object("estimate")
	readImage(b, o.Object("image"), &estimate.Image)
	readVideo(b, o.Object("video"), &estimate.Video)
	o.Close()
	if o.Present() && !b.EstimateMedia(estimate) {
		b.Warn("estimate has no effect: another plug-in has one, too")
	}
	return tokenProducer{precise.ReadBackend(b)}
}

// TokenBackend implements scoring.TokensPart.
func (p tokenProducer) TokenBackend() *scoring.TokenBackend { return p.backend }

const (
	modeDynamic = "dynamic"
	modeStatic  = "static"
	modeSampled = "sampled"
	modeStrided = "strided"

	mostSide = 1 << 16
)

// tellIdle tells the operator of what is given for modes other than the one of the place.
func tellIdle(b *scoring.Builder, place, mode string, o *strictjson.Object, modes ...string) {
	for _, other := range modes {
		if other != mode && o.Has(other) {
			b.Warn("estimate." + place + "." + other + " has no effect with mode: " + mode)
		}
	}
}

func readImage(b *scoring.Builder, o *strictjson.Object, e *scoring.ImageEstimate) {
	mode := modeDynamic
	o.OneOf("mode", &mode, modeDynamic, modeStatic)
	tellIdle(b, "image", mode, o, modeDynamic, modeStatic)
	readSize(o.Object("defaultResolution"), &e.Width, &e.Height)
	readFactor(o.Object("dynamic"), &e.Factor)
	static := o.Object("static")
	fixed := 1
	static.Int("staticToken", &fixed, 1, math.MaxInt32)
	static.Close()
	o.Close()
	if mode == modeStatic {
		e.Fixed = fixed
	}
}

func readFactor(o *strictjson.Object, factor *int) {
	o.Int("factor", factor, 1, math.MaxInt32)
	o.Close()
}

func readSize(o *strictjson.Object, width, height *int) {
	o.Int("width", width, 1, mostSide)
	o.Int("height", height, 1, mostSide)
	o.Close()
}

func readVideo(b *scoring.Builder, o *strictjson.Object, e *scoring.VideoEstimate) {
	duration := 10.0
	o.Float("defaultDuration", &duration, 0, 1e6)
	o.Int("maxVideoTokens", &e.Most, 0, math.MaxInt32)
	e.Frames = readFrames(b, o.Object("frames"), duration)
	per := o.Object("tokensPerFrame")
	mode, fixed := modeDynamic, 1
	per.OneOf("mode", &mode, modeDynamic, modeStatic)
	tellIdle(b, "video.tokensPerFrame", mode, per, modeDynamic, modeStatic)
	readFactor(per.Object("dynamic"), &e.Factor)
	static := per.Object("static")
	static.Int("numTokensPerFrame", &fixed, 1, math.MaxInt32)
	static.Close()
	per.Close()
	readSize(o.Object("defaultResolution"), &e.Width, &e.Height)
	o.Close()
	if mode == modeStatic {
		e.PerFrame = fixed
	}
}

// readFrames returns how many frames a video of so many seconds is taken for.
func readFrames(b *scoring.Builder, o *strictjson.Object, duration float64) int {
	mode, sampled, source := modeSampled, 2.0, 24.0
	stride, patch, least, most := 1, 1, 0, 0
	o.OneOf("mode", &mode, modeSampled, modeStrided)
	tellIdle(b, "video.frames", mode, o, modeSampled, modeStrided)
	bySampling, byStride := o.Object("sampled"), o.Object("strided")
	bySampling.Float("sampleFPS", &sampled, 0, 1000)
	bySampling.Int("temporalPatchSize", &patch, 0, math.MaxInt32)
	bySampling.Close()
	byStride.Float("defaultSourceFPS", &source, 0, 1000)
	byStride.Int("frameStride", &stride, 1, math.MaxInt32)
	byStride.Close()
	o.Int("minFrames", &least, 0, math.MaxInt32)
	o.Int("maxFrames", &most, 0, math.MaxInt32)
	o.Close()
	frames := int(duration * sampled)
	if mode == modeStrided {
		frames = int(duration*source) / stride
	}
	frames = max(frames, least)
	if most > 0 {
		frames = min(frames, most)
	}
	if mode == modeSampled && patch > 1 {
		frames /= patch
	}
	return frames
}
