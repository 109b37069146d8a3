package main_test

import (
	"bytes"
	"testing"
)

// The module has nothing of encoding/json in it, which comes with a single call of gjson.Get, by its modifiers, and
// makes the module half as large again. Every worker compiles it.
func TestModuleWithoutReflection(t *testing.T) {
	text, err := module()
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"json: unsupported type", "json: cannot unmarshal"} {
		if bytes.Contains(text, []byte(said)) {
			t.Errorf("the module can say %q: something calls encoding/json", said)
		}
	}
}
