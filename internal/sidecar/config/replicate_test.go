package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/scoring"
)

func TestShare(t *testing.T) {
	const text = envoyYAML + "discovery: {static: []}\nscrape: {share: true}\n"
	_, err := Parse("sidecar.yaml", []byte(text))
	if err == nil || !strings.Contains(err.Error(), "scrape.share: needs replicate") {
		t.Errorf("got %v, want that replicate is missing", err)
	}
	c, err := Parse("sidecar.yaml", []byte(text+"replicate: {redis: 'redis://r'}\n"))
	if err != nil || !c.Scrape.Share {
		t.Errorf("got %v, want scrapes to be shared", err)
	}
}

func TestReplicate(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "key"), []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	defaults := func(change func(r *Replicate)) *Replicate {
		r := &Replicate{Stream: "pintle", MaxLen: 20_000, Gateway: host, Interval: 40 * time.Millisecond}
		change(r)
		return r
	}
	tests := []struct {
		name, yaml string
		want       *Replicate
		mistake    string
	}{
		{"none", "", nil, ""},
		{"the least", "{redis: 'redis://r:6379/2'}", defaults(func(r *Replicate) {
			r.Redis.Address = "redis://r:6379/2"
		}), ""},
		{"all", "{redis: {addresses: ['a:1', 'b:2'], masterName: m, username: u, password: p, db: 1}, stream: s, " +
			"gateway: g, interval: 50ms, maxLen: 100, keyFile: key}", &Replicate{
			Redis: scoring.StoreRedis{Addresses: []string{"a:1", "b:2"}, MasterName: "m", Username: "u", Password: "p",
				DB: 1}, Stream: "s", Gateway: "g", Interval: 50 * time.Millisecond, MaxLen: 100, Key: "from-a-file",
		}, ""},
		{"a password in a file", "{redis: 'redis://u@r', gateway: g, passwordFile: key}", defaults(func(r *Replicate) {
			r.Redis.Address, r.Redis.Password, r.Gateway = "redis://u@r", "from-a-file", "g"
		}), ""},
		{"a Cluster by TLS", "{redis: {addresses: ['a:1', 'b:2']}, gateway: g, tls: {ca: key, serverName: s}}",
			defaults(func(r *Replicate) {
				r.Redis.Addresses, r.Gateway = []string{"a:1", "b:2"}, "g"
				r.Access = topology.Access{HTTPS: true, CA: filepath.Join(folder, "key"), ServerName: "s"}
			}), ""},
		{"Sentinels with a password", "{redis: {addresses: ['a:1'], masterName: m}, gateway: g, " +
			"sentinelPasswordFile: key}", defaults(func(r *Replicate) {
			r.Redis.Addresses, r.Redis.MasterName, r.Gateway = []string{"a:1"}, "m", "g"
			r.SentinelPassword = "from-a-file"
		}), ""},
		{"TLS with another URL", "{redis: 'redis://r', tls: {}}", nil, "replicate.tls: is of no use with such a URL"},
		{"no certificate for the key", "{redis: 'rediss://r', tls: {key: k}}", nil,
			"replicate.tls: one of certificate and key is missing"},
		{"Sentinels that are none", "{redis: 'redis://r', sentinelPasswordFile: key}", nil,
			"replicate.sentinelPasswordFile: is of no use without masterName"},
		{"no server", "{gateway: g}", nil, "replicate.redis: is missing; the URL of a Redis or Valkey is right"},
		{"no URL", "{redis: 'r:secret@h', gateway: g}", nil, "replicate.redis: the value is not a URL"},
		{"another scheme", "{redis: 'http://r:secret@h'}", nil, `replicate.redis: "http://xxxxx@h" is not a URL`},
		{"no port", "{redis: 'redis://r:secret@h:x'}", nil, `replicate.redis: "redis://xxxxx@h:x" has no server of the form`},
		{"a name with a slash", "{redis: 'redis://r', gateway: a/b}", nil, `replicate.gateway: "a/b" is no name`},
		{"no stream", "{redis: 'redis://r', stream: ''}", nil, `replicate.stream: "" is no name`},
		{"two keys", "{redis: 'redis://r', key: secret, keyFile: key}", nil, "replicate.keyFile: key is there, too"},
		{"a password beside its file", "{redis: {address: 'redis://r', password: secret}, passwordFile: key}", nil,
			"replicate.passwordFile: redis has a password, too; one of them is right"},
		{"one in the URL", "{redis: 'redis://u:secret@r', passwordFile: key}", nil,
			"replicate.passwordFile: redis has a password, too"},
		{"no such file", "{redis: 'redis://r', keyFile: nowhere}", nil, "replicate.keyFile: open "},
		{"no such file of a password", "{redis: 'redis://r', passwordFile: nowhere}", nil,
			"replicate.passwordFile: open "},
		{"an empty key", "{redis: 'redis://r', key: ''}", nil, "replicate.key: the token is empty"},
		{"a key that no header can carry", "{redis: 'redis://r', key: 'sec ret'}", nil,
			"replicate.key: the token has a character that no header can carry"},
		{"a key", "{redis: 'redis://r', gateway: g, key: a-key}", defaults(func(r *Replicate) {
			r.Redis.Address, r.Gateway, r.Key = "redis://r", "g", "a-key"
		}), ""},
		{"a server's mistake", "{redis: {address: 'redis://r', ttl: 1s}}", nil, `unknown key "ttl"`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			text := envoyYAML + "discovery: {static: []}\n"
			if tc.yaml != "" {
				text += "replicate: " + tc.yaml + "\n"
			}
			c, err := Parse(filepath.Join(folder, "sidecar.yaml"), []byte(text))
			switch {
			case tc.mistake != "":
				if err == nil || !strings.Contains(err.Error(), tc.mistake) || strings.Contains(err.Error(), "secret") {
					t.Errorf("got %v, want %q and no secret", err, tc.mistake)
				}
			case err != nil:
				t.Error(err)
			case !reflect.DeepEqual(c.Replicate, tc.want):
				t.Errorf("got %+v, want %+v", c.Replicate, tc.want)
			}
		})
	}
}
