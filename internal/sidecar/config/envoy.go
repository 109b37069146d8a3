package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
)

func (c *Config) readEnvoy(v value) error {
	return v.fields(map[string]func(value) error{
		"ingest": c.readIngest,
		"token": func(v value) error {
			token, err := v.text()
			if err != nil {
				return v.errorf("the value is no string; a string in quotes is right")
			}
			c.Token = token
			if err := checkToken(token); err != nil {
				return v.errorf("%v", err)
			}
			return nil
		},
		"tokenFile": func(v value) error { return c.readPath(v, &c.TokenFile) },
	})
}

// checkToken never shows the token.
func checkToken(token string) error {
	if token == "" {
		return errors.New("the token is empty; the filter's ingest.token is right")
	}
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return errors.New("the token has a character that no header can carry; visible ASCII is right")
		}
	}
	return nil
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
	return token, checkToken(token)
}

func (c *Config) readIngest(v value) error {
	items := []value{v}
	if _, err := v.text(); err != nil {
		if items, err = v.items(); err != nil {
			return v.wrongType("a URL or a list of URLs")
		}
	}
	for _, item := range items {
		text, err := item.text()
		if err != nil {
			return err
		}
		ingest, ok := parseIngest(text)
		if !ok {
			return item.errorf("%q is no ingest URL; http://host:port%s or unix:///path.sock is right", text, IngestPath)
		}
		if slices.Contains(c.Ingests, ingest) {
			return item.errorf("%q is there twice; once is right", text)
		}
		c.Ingests = append(c.Ingests, ingest)
	}
	return nil
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
		return Ingest{Name: text, URL: "http://localhost" + IngestPath, Socket: u.Path}, true
	case "http":
		if u.Hostname() == "" || u.Port() == "" {
			return Ingest{}, false
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = IngestPath
		}
		return Ingest{Name: text, URL: u.String()}, true
	}
	return Ingest{}, false
}
