package state

import (
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/openai"
)

// TestEscapedMedia: an image is the same one whether slashes in it are escaped, as PHP does, or not.
func TestEscapedMedia(t *testing.T) {
	body := func(url string) string {
		part := func(url string) string { return `{"type":"image_url","image_url":{"url":"` + url + `"}}` }
		return `{"messages":[{"role":"user","content":[` + part(url) + `,` + part("http://other") + `]}]}`
	}
	for _, url := range []string{"https://a/b/c.png", "data:image/jpeg;base64,/9j/4AAQ" + strings.Repeat("/A", 999)} {
		plain, escapedSlashes := body(url), body(strings.ReplaceAll(url, "/", `\/`))
		everything := body(strings.Trim(escaped(url), `"`))
		var h Hasher
		hashed := func(body string) (media, ids []uint64) {
			r := scanned(t, openai.APIChat, body)
			ids, _ = h.IDBlocks(nil, nil, "m", r, []byte(body), Chain{BlockBytes: 8, IDs: true}, 99, []int32{9, 9})
			return h.MediaHashes(nil, r, []byte(body), 9), ids
		}
		media, ids := hashed(plain)
		if len(media) != 2 || len(ids) == 0 {
			t.Fatalf("%.40s: %d images in %d blocks", url, len(media), len(ids))
		}
		for _, other := range []string{escapedSlashes, everything} {
			if m, i := hashed(other); !slices.Equal(m, media) || !slices.Equal(i, ids) {
				t.Errorf("%.99s: images %x, want %x as without escapes, or other blocks", other, m, media)
			}
		}
		r, raw := scanned(t, openai.APIChat, escapedSlashes), []byte(escapedSlashes)
		if n := testing.AllocsPerRun(10, func() { media = h.MediaHashes(media[:0], r, raw, 9) }); n != 0 {
			t.Errorf("%.40s: got %v allocations, want none", url, n)
		}
	}
}

// TestMediaHashes: of an image that comes again there is one hash, and there are no more than asked for.
func TestMediaHashes(t *testing.T) {
	part := func(url string) string { return `{"type":"image_url","image_url":{"url":"` + url + `"}}` }
	for _, tc := range []struct {
		name string
		urls []string
		most int
		want []string // whose hashes
	}{
		{"none", nil, 9, nil},
		{"different ones", []string{"a/b", "c", "d"}, 9, []string{"a/b", "c", "d"}},
		{"one again", []string{"a/b", "c", "a/b"}, 9, []string{"a/b", "c"}},
		{"one again, written otherwise", []string{"a/b", "c", `a\/b`}, 9, []string{"a/b", "c"}},
		{"too many", []string{"a/b", "a/b", "c", "d"}, 2, []string{"a/b", "c"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var parts []string
			for _, url := range tc.urls {
				parts = append(parts, part(url))
			}
			body := `{"messages":[{"role":"user","content":[` + strings.Join(parts, ",") + `]}]}`
			before := xxhash.Sum64String("c") // of another list, and no part of this one
			got := new(Hasher).MediaHashes([]uint64{before}, scanned(t, openai.APIChat, body), []byte(body), tc.most)
			want := []uint64{before}
			for _, url := range tc.want {
				want = append(want, xxhash.Sum64String(url))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %x, want %x", got, want)
			}
		})
	}
}
