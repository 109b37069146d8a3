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
	frame := strings.Index(plain, "\xff\xc0\x00\x0b")
	of := func(marker string) string { return plain[:frame+1] + marker + plain[frame+2:] }
	const lossy = "RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x41\xc1\x7b\x40"
	const extended = "RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x40\x01\x00\x7a\x00\x00"
	tests := []struct {
		name, data string
		ok         bool
	}{
		{"a png that is cut behind its size", asPNG.String()[:24], true},
		{"a png that is cut in its size", asPNG.String()[:23], false},
		{"a gif that is cut behind its size", asGIF.String()[:10], true},
		{"a gif that is cut in its size", asGIF.String()[:9], false},
		{"a gif of 1987", "GIF87a" + asGIF.String()[6:], true},
		{"a gif of another year", "GIF88a" + asGIF.String()[6:], false},
		{"webp, lossy, scaled and cut behind its size", lossy, true},
		{"webp, lossy, cut in its size", lossy[:29], false},
		{"webp, extended, cut behind its size", extended, true},
		{"webp, extended, cut in its size", extended[:29], false},
		{"half of a jpeg's mark", "\xff\xd9" + plain[2:], false},
		{"the other half of it", "\xfe" + plain[1:], false},
		{"another kind of webp", extended[:15] + "Y" + extended[16:], false},
		{"another kind of riff", extended[:8] + "WAVE" + extended[12:], false},
		{"a jpeg that is cut behind its size", plain[:frame+9], true},
		{"a jpeg that is cut in its size", plain[:frame+8], false},
		{"a progressive jpeg", of("\xc2"), true}, {"the last kind of frame", of("\xcf"), true},
		{"behind the last kind of frame", of("\xd0"), false},
		{"a jpeg with tables in front", plain[:2] + "\xff\xc4\x00\x04ab\xff\xc8\x00\x04ab\xff\xcc\x00\x04ab" +
			plain[2:], true},
		{"a jpeg with bytes between its segments", plain[:2] + "\xff\xff\xff" + plain[2:], true},
		{"a jpeg with much in front", plain[:2] + "\xff\xe1\xff\xff" + strings.Repeat("x", 0xfffd) + plain[2:], false},
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
				t.Errorf("got %d x %d, %v; want 321 x 123, %v", width, height, ok, tc.ok)
			}
		})
	}
}

// TestLargeSizes: sizes of which all bytes count.
func TestLargeSizes(t *testing.T) {
	const riff = "RIFF\x00\x00\x00\x00WEBP"
	for name, tc := range map[string]struct {
		data          string
		width, height int
	}{
		"png": {"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x01\x02\x03\x04\x7f\xff\xff\xff", 0x01020304, 0x7fffffff},
		"gif": {"GIF89a\x02\x01\x04\x03", 0x0102, 0x0304},
		"webp, extended": {riff + "VP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x03\x02\x01\x06\x05\x04", 0x010204,
			0x040507},
		"webp, lossless": {riff + "VP8L\x00\x00\x00\x00\x2f\xff\xff\xff\x0f______", 1 << 14, 1 << 14},
	} {
		width, height, ok := OfBase64([]byte(base64.StdEncoding.EncodeToString([]byte(tc.data))))
		if width != tc.width || height != tc.height || !ok {
			t.Errorf("%s: got %d x %d, %v; want %d x %d", name, width, height, ok, tc.width, tc.height)
		}
	}
}

// FuzzOfBase64: whatever stands there, it is read or passed over.
func FuzzOfBase64(f *testing.F) {
	f.Add([]byte("/9j/4AAQSkZJRgABAQ"))
	f.Fuzz(func(_ *testing.T, text []byte) { OfBase64(text) })
}
