package address

import (
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

const (
	noRedis  = "is not a URL of redis://, rediss://, valkey:// or valkeys://"
	noServer = "has no server of the form host or host:port"
	noHosts  = "has no servers of the form host or host:port"
	noNumber = "has a path that is no number of a database"
)

// redisCases are URLs and what is wrong with them.
var redisCases = []struct{ name, url, problem string }{
	{"a host", "redis://h", ""},
	{"all of it", "redis://u:p@h:6379/2?protocol=3", ""},
	{"TLS", "rediss://h:6379", ""},
	{"TLS that proves nothing", "rediss://h:6379?skip_verify=true", ""},
	{"a password alone", "redis://:p%40%2f@h", ""},
	{"an address", "redis://10.0.0.1:6379", ""},
	{"IPv6", "redis://[::1]:6379/0", ""},
	{"a control character", "redis://h?client_name=a\x7f", "has a control character"},
	{"IPv6 without a port", "redis://[::1]", ""},
	{"IPv6 with a zone", "redis://[fe80::1%25eth0]:6379", ""},
	{"a zone's percent sign", "redis://[fe80::1%eth0]:6379", noServer},
	{"a zone without a name", "redis://[fe80::1%25]:6379", noServer},
	{"a zone with a blank", "redis://[fe80::1%25eth 0]:6379", noServer},
	{"a zone's percent sign without a port", "redis://[fe80::1%20]", noServer},
	{"this machine", "redis://:6379", ""},
	{"a port that is empty", "redis://h:/1", ""},
	{"Valkey", "valkey://h", ""},
	{"Valkey with TLS", "valkeys://h", ""},
	{"a database as an option", "redis://h?db=3", ""},
	{"an @ in an option", "redis://h?client_name=a@b", ""},
	{"time limits", "redis://h?dial_timeout=3s&read_timeout=2&pool_fifo=1&client_name=a%20b", ""},
	{"no scheme", "h:6379", noRedis},
	{"no server", "redis://", noRedis},
	{"one slash", "redis:/h", noRedis},
	{"another scheme", "http://h", noRedis},
	{"a scheme in capitals", "REDIS://h", noRedis},
	{"a socket", "unix:///run/redis.sock", noRedis},
	{"a port that is none", "redis://h:no-port", noServer},
	{"a port that is too large", "redis://h:65536", noServer},
	{"a port of nothing", "redis://h:0", noServer},
	{"IPv6 without brackets", "redis://::1:6379", noServer},
	{"half a bracket", "redis://[::1:6379", noServer},
	{"brackets around a name", "redis://[h]:6379", noServer},
	{"a blank", "redis://h h", noServer},
	{"several servers", "redis://a:1,b:2", noServer},
	{"a name as a database", "redis://h/prod", noNumber},
	{"less than no database", "redis://h/-1", noNumber},
	{"two databases", "redis://h/1/2", noNumber},
	{"a password with a slash", "redis://u:p/w@h", unescaped},
	{"a password with a question mark", "redis://u:p?w@h", unescaped},
	{"a password with a hash", "redis://u:1#w@h", "has a #, which has to be written as %23"},
	{"a password with a percent sign", "redis://u:10%@h", unescaped},
	{"a password with an umlaut", "redis://u:ä@h", unescaped},
	{"a line's end", "redis://h/1\n", noNumber},
}

// mongoCases are URIs and what is wrong with them.
var mongoCases = []struct{ name, uri, problem string }{
	{"a host", "mongodb://h", ""},
	{"all of it", "mongodb://u:p@a:1,b:2,[::1]:3/d?replicaSet=r&tls=true&w=majority&readPreference=nearest", ""},
	{"a socket", "mongodb://%2Ftmp%2Fmongodb-27017.sock", ""},
	{"a user alone", "mongodb://u@h/?authMechanism=MONGODB-X509", ""},
	{"properties", "mongodb://u:p@h/?authMechanism=GSSAPI&authMechanismProperties=SERVICE_NAME%3Am", ""},
	{"what is not known", "mongodb://h/?x=1", ""},
	{"in capitals", "mongodb://h/?directConnection=TRUE", ""},
	{"no scheme", "h", "is not a URI of mongodb:// or mongodb+srv://"},
	{"no server", "mongodb://", "is not a URI of mongodb:// or mongodb+srv://"},
	{"only a database", "mongodb:///d", noHosts},
	{"a port that is none", "mongodb://h:x", noHosts},
	{"a port that is too large", "mongodb://a,h:70000", noHosts},
	{"IPv6 without brackets", "mongodb://::1:1", noHosts},
	{"no slash", "mongodb://h?tls=true", "has no / before its options"},
	{"a password with an @", "mongodb://u:p@w@h", unescaped},
	{"a password with a slash", "mongodb://u:p/w@h", unescaped},
	{"a password with a colon", "mongodb://u:p:w@h", unescaped},
	{"a password with a percent sign", "mongodb://u:10%@h", unescaped},
	{"a password alone", "mongodb://:p@h", "has no user before its password"},
	{"a host's percent sign", "mongodb://%2", noHosts},
	{"a percent sign", "mongodb://h/?appName=10%", "has an option with a % that has to be written as %25"},
	{"a database's percent sign", "mongodb://h/10%", "has a database's name with a % that has to be written as %25"},
}

// asRedis is a URL as the client knows it.
func asRedis(url string) string { return strings.Replace(url, "valkey", "redis", 1) }

// TestRedis: the client can read what nothing is wrong with.
func TestRedis(t *testing.T) {
	for _, tc := range redisCases {
		t.Run(tc.name, func(t *testing.T) {
			if got := Redis(tc.url); got != tc.problem {
				t.Errorf("%q: got %q, want %q", tc.url, got, tc.problem)
			}
			if _, err := redis.ParseURL(asRedis(tc.url)); err != nil && tc.problem == "" {
				t.Errorf("the client says: %v", err)
			}
		})
	}
}

// TestMongo: the driver can read what nothing is wrong with, and nothing else.
func TestMongo(t *testing.T) {
	for _, tc := range mongoCases {
		t.Run(tc.name, func(t *testing.T) {
			if got := Mongo(tc.uri); got != tc.problem {
				t.Errorf("%q: got %q, want %q", tc.uri, got, tc.problem)
			}
			if err := options.Client().ApplyURI(tc.uri).Validate(); (err != nil) != (tc.problem != "") {
				t.Errorf("the driver says: %v", err)
			}
		})
	}
	const several = "has more than one host, or a port; mongodb+srv:// has one name that is looked up"
	for uri, want := range map[string]string{ // which the driver looks up at once
		"mongodb+srv://a.b.c/d?srvMaxHosts=2": "", "mongodb+srv://a.b.c:1/d": several,
		"mongodb+srv://a.b.c,a.b.d": several,
	} {
		if got := Mongo(uri); got != want {
			t.Errorf("%q: got %q, want %q", uri, got, want)
		}
	}
}

// FuzzRedis: the client can read what nothing is wrong with, but for options, which it checks itself.
func FuzzRedis(f *testing.F) {
	for _, tc := range redisCases {
		f.Add(tc.url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if Redis(url) != "" {
			return
		}
		url, _, _ = strings.Cut(url, "?")
		if _, err := redis.ParseURL(asRedis(url)); err != nil {
			t.Errorf("%q: the client says: %v", url, err)
		}
	})
}

// TestShown: an address that is wrong is told without what may be a secret.
func TestShown(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"nothing to hide", "redis://h:70000/x", `"redis://h:70000/x"`},
		{"a user", "redis://u:hunter2@h:70000", `"redis://xxxxx@h:70000"`},
		{"an @ in it", "mongodb://u:hunter2@hunter2@h", `"mongodb://xxxxx@h"`},
		{"a slash in it", "redis://u:h/unter2@h", `"redis://xxxxx@h"`},
		{"a hash in it", "redis://u:h#unter2@h", `"redis://xxxxx@h"`},
		{"no host behind it", "redis://u:hunter2", `"redis://u:xxxxx"`},
		{"no host behind one with a slash", "redis://:hunter2/x", `"redis://:xxxxx"`},
		{"among several", "mongodb://[::1]:1,u:hunter2", `"mongodb://[::1]:1,u:xxxxx"`},
		{"an option", "mongodb://h/?tlsCertificateKeyFilePassword=hunter2", `"mongodb://h/?xxxxx"`},
		{"a host and a port", "h:6379", `"h:6379"`},
		{"no scheme", "hunter2", "the value"},
		{"no scheme in front", "u:hunter2@redis://h", "the value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Shown(tc.text); got != tc.want {
				t.Errorf("%q: got %s, want %s", tc.text, got, tc.want)
			}
		})
	}
}

// TestChecks: a mistake names the key and what would be right.
func TestChecks(t *testing.T) {
	o, document := strictjson.Parse([]byte(`{"redis": "redis://u:hunter2@h:x", "mongo": "mongodb://h?x"}`), "config")
	CheckRedis(o, "redis", o.Text("redis"))
	CheckMongo(o, "mongo", o.Text("mongo"))
	const want = `redis: "redis://xxxxx@h:x" has no server of the form host or host:port; one such as ` +
		"redis://host:6379/0 is right\n" +
		`mongo: "mongodb://h?xxxxx" has no / before its options; one such as mongodb://host:27017 is right`
	if got := document.Err(); got == nil || got.Error() != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestHostPort(t *testing.T) {
	for _, tc := range []struct {
		text, host string
		port       uint16
		ok         bool
	}{
		{"h:1", "h", 1, true}, {"10.0.0.1:65535", "10.0.0.1", 65535, true}, {"[::1]:5", "::1", 5, true},
		{":1", "", 1, true}, {"h:0", "h", 0, true}, {"*:1", "*", 1, true},
		{"", "", 0, false}, {"h", "", 0, false}, {"h:", "h", 0, false}, {"h:65536", "h", 0, false},
		{"h:+1", "h", 0, false}, {"h:http", "h", 0, false}, {"::1:5", "::1", 5, false}, {"[::1:5", "", 5, false},
		{"[h]:5", "h", 5, false}, {"redis://h:1", "redis://h", 1, false}, {"u@h:1", "u@h", 1, false},
	} {
		host, port, ok := HostPort(tc.text)
		if ok != tc.ok || ok && (host != tc.host || port != tc.port) {
			t.Errorf("%q: got %q, %d, %t, want %q, %d, %t", tc.text, host, port, ok, tc.host, tc.port, tc.ok)
		}
	}
}

// TestHTTP: what is a URL is one of Go's, too.
func TestHTTP(t *testing.T) {
	for text, want := range map[string]bool{"http://h": true, "https://h:1/p?q=1": true, "http://[::1]:1": true,
		"http://[fe80::1%25eth0]:1": true, "http://[fe80::1%eth0]:1": false, "http://[fe80::1%20]": false,
		"http://[fe80::1%25]": false, "http://[fe80::1%25eth 0]": false,
		"http://:1": true, "http://:": false, "http://u:p@:/": false,
		"http://u:p@h/%20": true, "http://": false, "http://h:x": false, "http://h:70000": false, "http:///p": false,
		"http://h/%2": false, "http://h h": false, "http://h\n": false, "h:1": false, "ftp://h": false, "": false} {
		if got := HTTP(text); got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
		if _, err := http.NewRequest(http.MethodGet, text, nil); want && err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for _, tc := range []struct {
		text, host string
		port       uint16
		ok         bool
	}{
		{"tcp://*:5557", "*", 5557, true}, {"tcp://h:0", "h", 0, true}, {"tcp://[::]:1", "::", 1, true},
		{"tcp://:::1", "::", 1, true},
		{"tcp://h", "", 0, false}, {"tcp://h:70000", "", 0, false}, {"tcp://h:+1", "", 0, false},
		{"tcp://*:*", "", 0, false}, {"ipc://x:1", "", 0, false}, {"h:1", "", 0, false},
	} {
		host, port, ok := Endpoint(tc.text)
		if ok != tc.ok || ok && (host != tc.host || port != tc.port) {
			t.Errorf("%q: got %q, %d, %t, want %q, %d, %t", tc.text, host, port, ok, tc.host, tc.port, tc.ok)
		}
	}
}
