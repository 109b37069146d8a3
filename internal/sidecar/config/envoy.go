package config

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/internal/strictjson"
)

// Ingest is one Envoy's ingest listener.
type Ingest struct {
	// Name is the URL as the configuration has it.
	Name string
	// URL is what is posted to. Socket is the unix socket that it is reached by; empty is TCP.
	URL, Socket string
}

// Transport reaches the listener.
func (i Ingest) Transport() *http.Transport {
	transport := &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}
	if i.Socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", i.Socket)
		}
	}
	return transport
}

// Listens reports whether somebody takes connections at the listener.
func (i Ingest) Listens() bool {
	network, address := "unix", i.Socket
	if i.Socket == "" {
		u, err := url.Parse(i.URL)
		if err != nil {
			return false
		}
		network, address = "tcp", u.Host
	}
	connection, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

// Request asks for a path beside that of snapshots, as /journal, in the sidecar's name.
func (i Ingest) Request(ctx context.Context, method, path, token string, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(i.URL, "/snapshot")+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("User-Agent", "pintle")
	return request, nil
}

// IngestPath is where the filter takes snapshots.
const IngestPath = "/pintle/v1/snapshot"

// readEnvoy shows no value of o but URLs that hold no secret.
func (c *Config) readEnvoy(o *strictjson.Object) {
	var ingests []string
	o.Texts("ingest", &ingests)
	for i, text := range ingests {
		key := "ingest"
		if len(ingests) > 1 {
			key += "[" + strconv.Itoa(i) + "]"
		}
		ingest, ok := parseIngest(text)
		twin := slices.IndexFunc(c.Ingests, func(other Ingest) bool {
			return other.URL == ingest.URL && other.Socket == ingest.Socket
		})
		switch {
		case !ok:
			shown := "the value"
			if strings.Contains(text, "://") && !strings.ContainsAny(text, "@?# ") {
				shown = strconv.Quote(text)
			}
			o.Mistake(key, shown+" is no ingest URL; http://host:port"+IngestPath+" or unix:///path.sock is right")
		case twin >= 0 && c.Ingests[twin].Name == text:
			o.Mistake(key, strconv.Quote(text)+" is there twice; once is right")
		case twin >= 0:
			o.Mistake(key, strconv.Quote(text)+" is the same Envoy as "+strconv.Quote(c.Ingests[twin].Name)+
				"; once is right")
		default:
			c.Ingests = append(c.Ingests, ingest)
		}
	}
	if len(ingests) == 0 {
		o.Missing("ingest", "the URL of Envoy's ingest listener is right, such as http://127.0.0.1:15099"+IngestPath)
	}
	o.String("token", &c.Token)
	o.String("tokenFile", &c.TokenFile)
	o.Duration("drain", &c.Drain, time.Second)
	o.Close()
	switch {
	case o.Has("token") && o.Has("tokenFile"):
		o.Mistake("tokenFile", "token is there, too; one of them is right")
	case o.Has("tokenFile"):
		c.TokenFile = c.path(o, "tokenFile", c.TokenFile)
	case c.Token == "":
		o.Missing("token", "the filter's ingest.token is right, or envoy.tokenFile")
	default:
		if err := topology.CheckToken(c.Token); err != nil {
			o.Mistake("token", err.Error())
		}
	}
}

// ReadToken reads a file that holds a bearer token.
func ReadToken(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token, err := ParseToken(content)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return token, nil
}

// ParseToken returns the token in a file's content.
func ParseToken(content []byte) (string, error) {
	token := strings.TrimSpace(string(content))
	return token, topology.CheckToken(token)
}

func parseIngest(text string) (Ingest, bool) {
	u, err := url.Parse(text)
	if err != nil || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return Ingest{}, false
	}
	switch u.Scheme {
	case "unix":
		if u.Host != "" || len(u.Path) < 2 || u.Opaque != "" {
			return Ingest{}, false
		}
		return Ingest{Name: text, URL: "http://localhost" + IngestPath, Socket: filepath.Clean(u.Path)}, true
	case "http":
		if u.Hostname() == "" || u.Port() == "" {
			return Ingest{}, false
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = IngestPath
		}
		if !strings.HasSuffix(u.Path, IngestPath) {
			return Ingest{}, false // the filter leaves every other path to the route, which answers 404
		}
		u.Host = strings.ToLower(u.Host)
		return Ingest{Name: text, URL: u.String()}, true
	}
	return Ingest{}, false
}
