package shipped_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/shipped"
)

// valuesOf returns the values of a key anywhere in a document.
func valuesOf(in any, key string) (all []any) {
	switch v := in.(type) {
	case map[string]any:
		for name, inner := range v {
			if name == key {
				all = append(all, inner)
			}
			all = append(all, valuesOf(inner, key)...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, valuesOf(inner, key)...)
		}
	}
	return all
}

// TestIngestIsNotLogged: a logger of Istio's and Envoy Gateway's is that of all listeners, and leaves out what comes to
// the ingest listener.
func TestIngestIsNotLogged(t *testing.T) {
	ports := valuesOf(parse(t, "ingest", []byte(readText(t, "istio/base/ingest.yaml"))), "number")
	if len(ports) != 1 {
		t.Fatalf("the ingest listener has the ports %v, want one", ports)
	}
	for file, port := range map[string]string{
		"istio/components/access-log/envoyfilter.yaml": fmt.Sprint(ports[0]),
		"istio/chart/templates/access-log.yaml":        "{{ .Values.ingest.port }}",
		"istio/envoy-gateway.yaml":                     fmt.Sprint(ports[0]),
	} {
		got := regexp.MustCompile(`\n.* (?:expression: |matches: \[)(.*?)]?\n`).FindStringSubmatch(readText(t, file))
		if want := "destination.port != " + port; len(got) == 0 || got[1] != want {
			t.Errorf("%s logs %q, want where %s", file, got, want)
		}
	}
}

// TestObserved: what is shipped logs in one format, and gives spans the same tags.
func TestObserved(t *testing.T) {
	var format, tags any
	for text, to := range map[string]*any{shipped.AccessLogJSON(): &format, shipped.TagsJSON(): &tags} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Fatal(err)
		}
	}
	// The chart's own language, beside which the text is YAML: lines of it, and the labels that it puts between braces.
	action := regexp.MustCompile(`(?m)^{{.*}}\n|{{- include .*? -}}`)
	for file, want := range map[string][2]bool{
		"envoy.yaml": {true, true}, "envoy.override-host.yaml": {true, true},
		"istio/components/access-log/envoyfilter.yaml": {true, false},
		"istio/chart/templates/access-log.yaml":        {true, false},
		"istio/components/trace-tags/envoyfilter.yaml": {false, true},
		"istio/chart/templates/trace-tags.yaml":        {false, true},
	} {
		text := action.ReplaceAllString(readText(t, file), "")
		text = strings.ReplaceAll(text, "{{ .Release.Namespace }}", "pintle")
		document := parse(t, file, []byte(text))
		formats, custom := valuesOf(document, "json_format"), valuesOf(document, "custom_tags")
		if (len(formats) > 0) != want[0] || (len(custom) > 0) != want[1] {
			t.Errorf("%s has %d formats and %d lists of tags", file, len(formats), len(custom))
		}
		for _, got := range formats {
			if !reflect.DeepEqual(got, format) {
				t.Errorf("%s logs in another format: %v", file, got)
			}
		}
		for _, got := range custom {
			if !reflect.DeepEqual(got, tags) {
				t.Errorf("%s has other tags: %v", file, got)
			}
		}
	}
}
