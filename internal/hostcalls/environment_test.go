package hostcalls

import "testing"

func TestEnvironment(t *testing.T) {
	e := Environment{"A=1\x00EMPTY=\x00B=x=y\x00PATH=/bin:/usr/bin\x00"}
	for _, tt := range []struct {
		name, value string
		ok          bool
	}{{"A", "1", true}, {"EMPTY", "", true}, {"B", "x=y", true}, {"PATH", "/bin:/usr/bin", true}, {"a", "", false},
		{"", "", false}, {"C", "", false}} {
		if value, ok := e.Lookup(tt.name); value != tt.value || ok != tt.ok {
			t.Errorf("%q: got %q, %v, want %q, %v", tt.name, value, ok, tt.value, tt.ok)
		}
	}
	if value, ok := (Environment{}).Lookup("A"); ok {
		t.Errorf("an empty environment has A=%q", value)
	}
	t.Setenv("PINTLE_TEST_VARIABLE", "here")
	if value, ok := ReadEnvironment().Lookup("PINTLE_TEST_VARIABLE"); value != "here" || !ok {
		t.Errorf("this process's variable: got %q, %v, want here", value, ok)
	}
}
