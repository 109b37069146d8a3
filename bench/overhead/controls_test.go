package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/shipped"
)

// TestControls: what is compared differs in what is said, and in nothing else.
func TestControls(t *testing.T) {
	followed, journaled := followVariants("m"), journalVariants("m")
	replicated, precise := replicateVariants("m"), preciseVariants("m", "t")
	plain, bare := variants("m", []string{"n.wasm"}), bareVariants(variants("m", nil))
	stored := storeVariants(options{module: "m"})
	for _, test := range []struct {
		name string
		a, b *variant
		want []string
	}{
		{"Pintle", plain[0], plain[1], []string{"document", "hold", "module"}},
		{"how requests are held", plain[1], plain[2], []string{"hold"}},
		{"another module", plain[1], plain[3], []string{"module"}},
		{"what the filter keeps", plain[1], bare[1], []string{"document", "settings", "unfollowed"}},
		{"bare, how requests are held", bare[1], bare[2], []string{"hold"}},
		{"the journal", journaled[0], journaled[1], []string{"settings", "unfollowed"}},
		{"prompts in the journal", journaled[1], journaled[2], []string{"document"}},
		{"who follows", followed[0], followed[1], []string{"unfollowed"}},
		{"who is told, before it is", replicated[0], replicated[1], nil},
		{"the store", stored[0], stored[1], []string{"document", "stored"}},
		{"the prefix scorer", precise[0], precise[1], []string{"document", "precise", "tokenizer"}},
		{"its mode", precise[1], precise[2], []string{"precise"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := reflect.ValueOf(test.a).Elem(), reflect.ValueOf(test.b).Elem()
			var got []string
			for i := range a.NumField() {
				field := a.Type().Field(i).Name
				if field != "name" && a.Field(i).Kind() != reflect.Func && !a.Field(i).Equal(b.Field(i)) {
					got = append(got, field)
				}
			}
			if slices.Sort(got); !slices.Equal(got, test.want) {
				t.Errorf("%s and %s differ in %q, want %q", test.a.name, test.b.name, got, test.want)
			}
		})
	}
}

// TestJournalIsOff: where the journal is said to be off nothing keeps it on, neither what the filter goes by nor a
// sidecar that follows it; all others keep it.
func TestJournalIsOff(t *testing.T) {
	off := map[string]bool{"off": true, "bare": true, "bare-buffer": true}
	for _, v := range slices.Concat(journalVariants("m"), followVariants("m"), replicateVariants("m"),
		variants("m", nil)[1:], bareVariants(variants("m", nil))[1:]) {
		c, err := pluginconfig.Parse([]byte(`{"config": ` + v.document + v.settings + `}`))
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		options := c.Plan.StateOptions()
		if kept := options.Any() || !v.unfollowed; kept == off[v.name] {
			t.Errorf("%s: the journal is kept: %v (by the filter %v, by who follows %v)", v.name, kept, options.Any(),
				!v.unfollowed)
		}
	}
}

// TestTogether: one sidecar cannot follow some of its Envoys and leave others alone.
func TestTogether(t *testing.T) {
	for name, all := range map[string][]*variant{"shipped": variants("m", nil),
		"bare": bareVariants(variants("m", nil))} {
		if fed, err := together(all); err != nil || len(fed) != 2 {
			t.Errorf("%s: got %d, %v, want the two with Pintle", name, len(fed), err)
		}
	}
	if fed, err := together(journalVariants("m")); err != nil || len(fed) != 0 {
		t.Errorf("sidecars of their own: got %d, %v, want none", len(fed), err)
	}
	mixed := variants("m", nil)
	mixed[1].unfollowed = true
	if _, err := together(mixed); err == nil || !strings.Contains(err.Error(), "pause and buffer have one sidecar") {
		t.Errorf("one of two followed: got %v", err)
	}
}

// TestStoreAlone: responses-store is all that the store's configuration has more than the shipped one.
func TestStoreAlone(t *testing.T) {
	all := storeVariants(options{module: "m"})
	var got, want map[string]any
	if err := json.Unmarshal([]byte(all[1].document), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(shipped.JSON()), &want); err != nil {
		t.Fatal(err)
	}
	want["plugins"] = append(want["plugins"].([]any), map[string]any{"type": "responses-store"})
	want["featureGates"] = []any{"prepareDataPlugins"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
	var before map[string]any
	if err := json.Unmarshal([]byte(shipped.JSON()), &before); err != nil || before["featureGates"] != nil {
		t.Errorf("%v: the shipped configuration has feature gates of its own, which the store's replaces: %v", err,
			before["featureGates"])
	}
}
