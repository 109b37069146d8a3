package main_test

import (
	"bytes"
	"testing"
)

// Neither the decoder nor the encoder of encoding/json is in the module. They come with a single call of gjson.Get, by
// its modifiers, and make the module a quarter larger, which every worker compiles.
func TestModuleWithoutEncodingJSON(t *testing.T) {
	text, err := module()
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"json: invalid use of ,string struct tag", "json: encoding error for type"} {
		if bytes.Contains(text, []byte(said)) {
			t.Errorf("the module can say %q: something calls encoding/json", said)
		}
	}
}
