package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// watch moves the listeners of a configuration into a file of their own, which Envoy watches.
func (e *Envoy) watch(config []byte) ([]byte, error) {
	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	if dir, err = os.MkdirTemp(dir, "lds-"); err != nil {
		return nil, err
	}
	e.watched = filepath.Join(dir, "lds.yaml")
	var bootstrap map[string]any
	if err := yaml.Unmarshal(config, &bootstrap); err != nil {
		return nil, err
	}
	resources, _ := bootstrap["static_resources"].(map[string]any)
	if err := e.write(resources["listeners"]); err != nil {
		return nil, err
	}
	delete(resources, "listeners")
	bootstrap["node"] = map[string]any{"id": "e2e", "cluster": "e2e"}
	bootstrap["dynamic_resources"] = map[string]any{
		"lds_config": map[string]any{"path_config_source": map[string]any{"path": e.watched}}}
	return yaml.Marshal(bootstrap)
}

// write puts listeners in the place of those that Envoy has. Envoy looks at a watched file when another one is moved
// there.
func (e *Envoy) write(listeners any) error {
	list, ok := listeners.([]any)
	if !ok {
		return fmt.Errorf("listeners: got %T, want a list", listeners)
	}
	for _, l := range list {
		if l, ok := l.(map[string]any); ok {
			l["@type"] = "type.googleapis.com/envoy.config.listener.v3.Listener"
		}
	}
	text, err := yaml.Marshal(map[string]any{"resources": list})
	if err != nil {
		return err
	}
	fresh := e.watched + ".new"
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, e.watched)
}

// Reconfigure gives the listeners of an Envoy that was started with Dynamic the plug-in configurations that stand in
// them now. It returns before Envoy has read them.
func (e *Envoy) Reconfigure(t testing.TB, hosts []string, listeners ...*Listener) {
	t.Helper()
	e.reconfigure(t, hosts, listeners)
}

// Replace is Reconfigure with another module, a build output, in the place of the one that is there.
func (e *Envoy) Replace(t testing.TB, module string, hosts []string, listeners ...*Listener) {
	t.Helper()
	path, err := built(module)
	if err != nil {
		t.Fatal(err)
	}
	e.module = path
	e.reconfigure(t, hosts, listeners)
}

// ReconfigureWithout takes the plug-ins' configurations away.
func (e *Envoy) ReconfigureWithout(t testing.TB, listeners ...*Listener) {
	t.Helper()
	var without []*Listener
	for _, l := range listeners {
		l := *l
		l.PluginJSON, l.bare = "", true
		without = append(without, &l)
	}
	e.reconfigure(t, nil, without)
}

func (e *Envoy) reconfigure(t testing.TB, hosts []string, listeners []*Listener) {
	t.Helper()
	config, err := render(e.Cell, e.module, e.adminPort, listeners, hosts)
	if err != nil {
		t.Fatal(err)
	}
	var bootstrap struct {
		Static struct {
			Listeners []any `json:"listeners"`
		} `json:"static_resources"`
	}
	if err := yaml.Unmarshal(config, &bootstrap); err != nil {
		t.Fatal(err)
	}
	if err := e.write(bootstrap.Static.Listeners); err != nil {
		t.Fatal(err)
	}
}
