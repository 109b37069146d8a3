package imagesize

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

func TestOfBase64(t *testing.T) {
	picture := image.NewGray(image.Rect(0, 0, 321, 123))
	var asPNG, asGIF, asJPEG bytes.Buffer
	for _, err := range []error{png.Encode(&asPNG, picture), gif.Encode(&asGIF, picture, nil),
		jpeg.Encode(&asJPEG, picture, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	plain := asJPEG.String()
	withPreview := plain[:2] + "\xff\xe1\x40\x02" + strings.Repeat("\xff", 0x4000) + plain[2:]
	tests := []struct {
		name, data string
		ok         bool
	}{
		{"png", asPNG.String(), true}, {"gif", asGIF.String(), true}, {"jpeg", plain, true},
		{"jpeg with a preview", withPreview, true},
		{"webp, lossy", "RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x41\x01\x7b\x00______",
			true},
		{"webp, lossless", "RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x40\x81\x1e\x00_____________", true},
		{"webp, extended", "RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x40\x01\x00\x7a\x00\x00______",
			true},
		{"another", "not an image at all, but long enough for one", false},
		{"a png as wide as none is", asPNG.String()[:16] + "\x80\x00\x00\x00\x00\x00\x00\x7b________", false},
		{"a png as high as none is", asPNG.String()[:16] + "\x00\x00\x01\x41\xff\xff\xff\xff________", false},
		{"a png without a width", asPNG.String()[:16] + "\x00\x00\x00\x00\x00\x00\x00\x7b________", false},
		{"nothing", "", false}, {"cut short", asPNG.String()[:20], false},
		{"a jpeg without a frame", plain[:40], false},
		{"a jpeg of noise", "\xff\xd8" + strings.Repeat("x", 100), false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			width, height, ok := OfBase64([]byte(base64.StdEncoding.EncodeToString([]byte(tc.data))))
			if ok != tc.ok || ok && (width != 321 || height != 123) {
				t.Errorf("got %d x %d, %v", width, height, ok)
			}
		})
	}
}

// FuzzOfBase64: whatever stands there, it is read or passed over.
func FuzzOfBase64(f *testing.F) {
	f.Add([]byte("/9j/4AAQSkZJRgABAQ"))
	f.Fuzz(func(_ *testing.T, text []byte) { OfBase64(text) })
}
