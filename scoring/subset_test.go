package scoring

import (
	"slices"
	"testing"
)

func TestNextAddress(t *testing.T) {
	tests := []struct {
		name, list string
		want       []string
	}{
		{"none", "", nil},
		{"nothing but commas", " , ,", nil},
		{"one", "10.0.0.1:8000", []string{"10.0.0.1"}},
		{"several", "10.0.0.1:8000,10.0.0.2 , 10.0.0.3:1", []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}},
		{"IPv6", "[2001:db8::1]:8000,[2001:db8::2],2001:DB8::3", []string{"2001:db8::1", "2001:db8::2", "2001:DB8::3"}},
		{"a list of Envoy's", "\x02\x00\x00\x00\x0d\x00\x00\x00\x00\x00\x00\x0010.0.0.1:8000\x00\x00" +
			"10.0.0.2:8000\x00\x00", []string{"10.0.0.1", "10.0.0.2"}},
		{"brackets alone", "[", []string{""}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for address, rest := nextAddress(tc.list); address != ""; address, rest = nextAddress(rest) {
				got = append(got, hostOf(address))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
