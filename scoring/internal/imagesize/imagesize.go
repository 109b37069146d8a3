// Package imagesize reads the width and height of an image from its first bytes.
package imagesize

import (
	"encoding/base64"
	"encoding/binary"
	"math"
)

// most is how much of an image is looked at, decoded. A JPEG may have a preview before its frame header.
const most = 48 << 10

// MostText is how much of an image in base64 is looked at.
const MostText = most/3*4 + 24

// OfBase64 returns the size of a PNG, JPEG, GIF or WebP image in base64. ok is false when it is none of these, or its
// size does not stand near its beginning.
func OfBase64(text []byte) (width, height int, ok bool) {
	var first [36]byte
	n := decode(first[:], text)
	switch {
	case n >= 24 && string(first[:8]) == "\x89PNG\r\n\x1a\n":
		return ofPNG(first[16:])
	case n >= 10 && (string(first[:6]) == "GIF87a" || string(first[:6]) == "GIF89a"):
		return int(binary.LittleEndian.Uint16(first[6:])), int(binary.LittleEndian.Uint16(first[8:])), true
	case n >= 30 && string(first[:4]) == "RIFF" && string(first[8:12]) == "WEBP":
		return ofWebP(first[12:n])
	case n >= 4 && first[0] == 0xff && first[1] == 0xd8:
		return ofJPEG(text)
	}
	return 0, 0, false
}

// decode decodes as much of text as fits into dst, whose length is a multiple of 3.
func decode(dst, text []byte) int {
	chars := min(len(text), len(dst)/3*4) / 4 * 4
	n, _ := base64.StdEncoding.Decode(dst, text[:chars])
	return n
}

// ofPNG reads an IHDR chunk. Width and height are within 1 to 2^31 - 1 (PNG, 11.2.1); an int has 32 bits in Wasm.
func ofPNG(b []byte) (width, height int, ok bool) {
	w, h := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if w == 0 || h == 0 || w > math.MaxInt32 || h > math.MaxInt32 {
		return 0, 0, false
	}
	return int(w), int(h), true
}

func ofWebP(b []byte) (width, height int, ok bool) {
	switch string(b[:4]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(b[14:])) & 0x3fff, int(binary.LittleEndian.Uint16(b[16:])) & 0x3fff, true
	case "VP8L":
		bits := binary.LittleEndian.Uint32(b[9:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, true
	case "VP8X":
		return 1 + int(b[12]) + int(b[13])<<8 + int(b[14])<<16, 1 + int(b[15]) + int(b[16])<<8 + int(b[17])<<16, true
	}
	return 0, 0, false
}

// ofJPEG walks the segments of a JPEG up to its frame header, decoding the few bytes that each begins with.
func ofJPEG(text []byte) (width, height int, ok bool) {
	var head [15]byte
	for at := 2; at < most; {
		// Base64 is decoded from a multiple of 3 bytes on.
		from := at / 3
		if from*4 >= len(text) {
			return 0, 0, false
		}
		b := head[:decode(head[:], text[from*4:])]
		if at-from*3 >= len(b) {
			return 0, 0, false
		}
		b = b[at-from*3:]
		if len(b) < 9 || b[0] != 0xff {
			return 0, 0, false
		}
		switch marker := b[1]; {
		case marker == 0xff:
			at++
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			return int(binary.BigEndian.Uint16(b[7:])), int(binary.BigEndian.Uint16(b[5:])), true
		default:
			at += 2 + int(binary.BigEndian.Uint16(b[2:]))
		}
	}
	return 0, 0, false
}
