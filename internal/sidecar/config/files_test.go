package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesOfAccessAreChecked: those of every way in which something is asked, with the key and the line that name it.
func TestFilesOfAccessAreChecked(t *testing.T) {
	const tls = "scheme: https, tls: {ca: gone.pem}"
	path := filepath.Join(t.TempDir(), "s.yaml")
	for _, tc := range []struct{ name, text, want string }{
		{"all servers", "scrape: {" + tls + "}\ndiscovery: {static: []}\n", "line 2: scrape"},
		{"a listed one", "discovery:\n  static:\n  - {name: a, address: '10.0.0.1:1'}\n  - {name: b, address: " +
			"'10.0.0.2:1', " + tls + "}\n", "line 5: discovery.static[1]"},
		{"a name's", "discovery: {dns: [{name: a, port: 1, " + tls + "}]}\n", "line 2: discovery.dns[0]"},
		{"a pool's", "discovery: {kubernetes: {pools: [{service: a, " + tls + "}]}}\n",
			"line 2: discovery.kubernetes.pools[0]"},
		{"the other gateways'", "replicate: {redis: 'rediss://r', tls: {ca: gone.pem}}\ndiscovery: {static: []}\n",
			"line 2: replicate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			writeFile(t, path, envoyYAML+tc.text)
			want := path + ": " + tc.want + ".tls.ca: open "
			if _, err := Load(path); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// TestAllFilesAreToldAtOnce: each file that cannot be read, once, where it is named.
func TestAllFilesAreToldAtOnce(t *testing.T) {
	folder := t.TempDir()
	path, list := filepath.Join(folder, "s.yaml"), filepath.Join(folder, "list.yaml")
	text := "envoy: {ingest: 'http://a:1', tokenFile: token}\n" +
		"scrape: {scheme: https, tokenFile: key, tls: {ca: ca}}\n" +
		"discovery:\n  file: list.yaml\n  static:\n  - {name: a, address: '10.0.0.1:1', scheme: https}\n" +
		"  - {name: b, address: '10.0.0.1:2', tokenFile: own}\n"
	gone := func(line, key, name string) string {
		return path + ": line " + line + ": " + key + ": open " + filepath.Join(folder, name) +
			": no such file or directory"
	}
	of := []string{gone("1", "envoy.tokenFile", "token"), gone("2", "scrape.tls.ca", "ca"),
		gone("2", "scrape.tokenFile", "key")}
	own := gone("7", "discovery.static[1].tokenFile", "own")
	for _, tc := range []struct {
		name, list string
		want       []string
	}{
		{"no list", "", append(of[:3:3], gone("4", "discovery.file", "list.yaml"), own)},
		{"a list that is wrong", "endpoints: [{nam: a}]", append(of[:3:3], own, list+": line 1: endpoints[0]: unknown "+
			`key "nam"; did you mean name? known are name, address, engine, labels, models, scheme, tls, tokenFile, `+
			"tokenHeader", list+": line 1: endpoints[0].name: is missing; a unique name such as default/vllm-0 is "+
			"right", list+": line 1: endpoints[0].address: is missing; ip:port is right")},
		{"a list that names another one", "endpoints:\n- {name: c, address: '10.0.0.1:3'}\n- {name: d, address: " +
			"'10.0.0.1:4', tokenFile: its}\n", append(of[:3:3], own, strings.Replace(
			gone("3", "endpoints[1].tokenFile", "its"), path, list, 1))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			writeFile(t, path, text)
			if tc.list != "" {
				writeFile(t, list, tc.list)
			}
			_, err := Load(path)
			if want := strings.Join(tc.want, "\n"); err == nil || err.Error() != want {
				t.Errorf("got\n%v\nwant\n%s", err, want)
			}
		})
	}
}
