package openai

import "testing"

func TestEncodes(t *testing.T) {
	for codings, want := range map[string]bool{
		"": false, "identity": false, " Identity\t": false, "identity, ,IDENTITY": false, ",": false, "gzip": true,
		"identity,br": true, "zstd , identity": true, "identity;q=1": true, "identit": true, "identity identity": true,
	} {
		if got := Encodes(codings); got != want {
			t.Errorf("%q: got %v, want %v", codings, got, want)
		}
	}
}
