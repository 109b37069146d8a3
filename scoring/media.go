package scoring

import (
	"bytes"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring/internal/imagesize"
	"github.com/pintle-dev/pintle/state"
)

// MediaEstimate says how many tokens images, videos and audio are taken for. Source: llm-d, token-producer.
type MediaEstimate struct {
	Image ImageEstimate
	Video VideoEstimate
}

// ImageEstimate is for images: Fixed tokens, or if that is 0 one for each Factor pixels. Width and Height are those of
// an image that the body does not hold.
type ImageEstimate struct{ Fixed, Factor, Width, Height int }

// VideoEstimate is for videos: so many frames, each of PerFrame tokens, or if that is 0 of one for each Factor pixels.
// Most bounds the whole, 0 for no bound.
type VideoEstimate struct {
	Frames                                int
	PerFrame, Factor, Width, Height, Most int
}

// DefaultMedia is the estimate of a token-producer without parameters.
var DefaultMedia = MediaEstimate{
	Image: ImageEstimate{Factor: 1024, Width: 640, Height: 360},
	Video: VideoEstimate{Frames: 20, Factor: 1024, Width: 640, Height: 360},
}

// EstimateMedia has the plan count media by e; ok is false where an estimate other than the usual one counts already.
func (b *Builder) EstimateMedia(e MediaEstimate) (ok bool) {
	if media := &b.compiler.plan.media; *media == DefaultMedia {
		*media = e
	}
	return b.compiler.plan.media == e
}

// mediaIDs is how many ids each image, audio and video of the prompt is worth, in their order. Valid until the next
// decision.
func (c *Cycle) mediaIDs() []int32 {
	body := c.Request.Body
	if c.mediaKnown || body == nil || !(body.HasImage || body.HasAudio || body.HasVideo) {
		return c.media
	}
	c.mediaKnown = true
	for i := range body.Segments {
		segment := &body.Segments[i]
		raw := c.Request.BodyBytes[segment.Start:segment.End]
		switch segment.Kind {
		case openai.SegmentImage:
			if segment.Escaped {
				c.unescaped = openai.AppendUnescaped(c.unescaped[:0], raw, mostBeforeData+imagesize.MostText)
				raw = c.unescaped
			}
			c.media = append(c.media, int32(c.plan.media.Image.ids(raw)))
		case openai.SegmentVideo:
			c.media = append(c.media, int32(c.plan.media.Video.ids()))
		case openai.SegmentAudio:
			n := len(raw)
			if segment.Escaped {
				n = openai.UnescapedBytes(raw)
			}
			c.media = append(c.media, int32(max(1, (n+state.BytesPerToken-1)/state.BytesPerToken)))
		}
	}
	return c.media
}

// mostMediaIDs bounds what one image or video is taken for.
const mostMediaIDs = 1 << 20

var base64Mark = []byte(";base64,")

// mostBeforeData is within how many bytes of a URL the data of an image begins.
const mostBeforeData = 64

func (e *ImageEstimate) ids(url []byte) int {
	if e.Fixed > 0 {
		return min(e.Fixed, mostMediaIDs)
	}
	width, height := e.Width, e.Height
	data := url
	if at := bytes.Index(url[:min(len(url), mostBeforeData)], base64Mark); at >= 0 {
		data = url[at+len(base64Mark):]
	}
	if w, h, ok := imagesize.OfBase64(data); ok {
		width, height = w, h
	}
	return perPixels(width, height, e.Factor)
}

func perPixels(width, height, factor int) int {
	return int(min(max(1, int64(width)*int64(height)/int64(factor)), mostMediaIDs))
}

func (e *VideoEstimate) ids() int {
	frame := int64(e.PerFrame)
	if frame == 0 {
		frame = int64(e.Width) * int64(e.Height) / int64(e.Factor)
	}
	n := max(1, min(int64(e.Frames)*min(frame, mostMediaIDs), mostMediaIDs))
	if e.Most > 0 {
		n = min(n, int64(e.Most))
	}
	return int(n)
}
