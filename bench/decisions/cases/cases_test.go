package cases

import (
	"encoding/json"
	"reflect"
	"testing"

	source "github.com/pintle-dev/pintle/internal/shipped"
)

func TestShipped(t *testing.T) {
	var got, want any
	for text, into := range map[string]*any{shipped: &got, `{"config":` + source.JSON() + `}`: &want} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("what is timed as shipped is\n%v, want\n%v", got, want)
	}
}
