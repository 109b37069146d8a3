package main_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestStartIsLogged: the log says which module starts, how it reads its configuration and what it leaves out of it, and
// nothing else; and of one that it refuses, which module that is.
func TestStartIsLogged(t *testing.T) {
	m := modes[0]
	version := regexp.MustCompile(`version v\d[\w.-]*`)
	const (
		alone   = "warn pintle: ingest is not configured; snapshots come only if another listener's plug-in in this VM "
		usual   = "info pintle: version VERSION, dialect heimdall, as nothing in the document tells"
		refuses = "error pintle: version VERSION refuses its configuration"
	)
	for _, tc := range []struct {
		name, configuration string
		want                []string
	}{
		{"usual", m.configuration(byQueue, ""), []string{usual}},
		{"another dialect", m.configuration(`{"apiVersion":"llm-d.ai/v1alpha1","kind":"EndpointPickerConfig","plugins":[
			{"type":"queue-scorer"}]}`, ""),
			[]string{"info pintle: version VERSION, dialect llm-d, as the apiVersion is llm-d.ai/v1alpha1"}},
		{"no ingest", `{"config":` + byQueue + `}`, []string{usual, alone}},
		{"a shadow with a mistake", m.shadowed(byQueue, `{"plugins":[{"type":"queue-scorrer"}]}`),
			[]string{usual, "error pintle: the shadow is left out: "}},
		{"a shadow of which something has no effect", m.shadowed(byQueue, `{"featureGates":["flowControl"]}`),
			[]string{usual, "warn pintle: shadow: config: featureGates: flowControl has no effect"}},
		{"a mistake", m.configuration(byQueue, `"holt":"buffer",`), []string{refuses, "error pintle: configuration: unknown key \"holt\""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			host := newHost(t, m.options(wazerohost.NewClock(startTime)))
			w, err := host.Worker()
			if err != nil {
				t.Fatal(err)
			}
			_, _ = w.Start(wazerohost.PluginConfig{Configuration: tc.configuration, Listener: requestListener})
			var got []string
			for _, line := range host.Logs(wazerohost.Info) {
				got = append(got, line.Level.String()+" "+version.ReplaceAllString(line.Text, "version VERSION"))
			}
			if !slices.EqualFunc(got, tc.want, strings.HasPrefix) {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}
