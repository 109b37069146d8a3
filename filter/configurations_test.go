package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/yamldoc"
)

// TestConfigurations: the module says of each configuration of the golden cases what this program, which TinyGo did not
// compile, says of it.
func TestConfigurations(t *testing.T) {
	files, err := filepath.Glob("../internal/explain/testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	m := modes[0]
	host := newHost(t, m.options(wazerohost.NewClock(startTime)))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "-- config --\n")
		configuration, _, _ := strings.Cut(rest, "\n-- ")
		document, err := yamldoc.Read([]byte(configuration))
		if err != nil {
			continue // which the case is about
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".golden"), func(t *testing.T) {
			want := saidNatively(document.JSON)
			worker, err := host.Worker()
			if err != nil {
				t.Fatal(err)
			}
			before := len(host.Logs(wazerohost.Warn))
			_, err = worker.Start(wazerohost.PluginConfig{
				Configuration: string(document.JSON), Listener: requestListener})
			if got := saidByModule(host, before); !slices.Equal(got, want) {
				t.Errorf("Start: %v\ngot  %q\nwant %q", err, got, want)
			}
		})
	}
}

// saidByModule is what the module logged of a configuration, behind that many lines.
func saidByModule(host *wazerohost.Host, before int) (said []string) {
	for _, line := range host.Logs(wazerohost.Warn)[before:] {
		text := strings.TrimPrefix(line.Text, "pintle: ")
		if !strings.HasPrefix(text, "version ") && !strings.HasPrefix(text, "ingest is not ") {
			said = append(said, text)
		}
	}
	return said
}

// saidNatively are the mistakes of a configuration, or else the warnings.
func saidNatively(configuration []byte) []string {
	c, err := pluginconfig.Parse(configuration)
	if err != nil {
		return strings.Split(err.Error(), "\n")
	}
	return slices.Concat(c.Warnings(), c.ShadowWarnings())
}
