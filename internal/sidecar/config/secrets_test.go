package config

import (
	"strings"
	"testing"
)

func TestNoMistakeShowsASecret(t *testing.T) {
	const secret = "s3cr3tvalue"
	rest := "discovery: {static: []}\n"
	in := func(inner string) string { return "envoy:\n  ingest: http://127.0.0.1:1\n" + inner + "\n" + rest }
	tests := map[string]string{
		"misspelt key":            in("  tokn: " + secret),
		"misspelt key, quoted":    in(`  tokn: "` + secret + `"`),
		"no blank":                in("  token:" + secret),
		"no blank in braces":      "envoy: {ingest: 'http://a:1', token:" + secret + "}\n" + rest,
		"an equals sign":          in("  token=" + secret),
		"no colon":                in("  token " + secret),
		"quote left open":         in(`  token: "` + secret),
		"quote inside":            in(`  token: ` + secret + `"x: y`),
		"a list":                  in("  token: [" + secret + "]"),
		"a mapping":               in("  token: {value: " + secret + "}"),
		"an anchor":               in("  token: *" + secret),
		"a tag":                   in("  token: !!int " + secret),
		"a template":              in("  token: {{" + secret + "}}"),
		"reserved character":      in("  token: @" + secret),
		"a character":             in("  token: " + secret + "ä"),
		"user of the URL":         "envoy: {ingest: 'http://:" + secret + "@a:1', token: x}\n" + rest,
		"query of the URL":        "envoy: {ingest: 'http://a:1/?token=" + secret + "', token: x}\n" + rest,
		"user of another scheme":  "envoy: {ingest: 'https://u:" + secret + "@a:1', token: x}\n" + rest,
		"in place of the URL":     "envoy: {ingest: " + secret + ", token: x}\n" + rest,
		"in place of the section": "envoy: " + secret + "\n" + rest,
		"section as a text":       "envoy: 'token: " + secret + "'\n" + rest,
		"section as a block":      "envoy: |\n  token: " + secret + "\n" + rest,
		"twice":                   in("  token: x\n  token: " + secret),
		"both":                    in("  token: " + secret + "\n  tokenFile: x"),
		"file with the token":     in("  tokenFile: [" + secret + "]"),
		"at the top":              "envoy: {ingest: 'http://a:1'}\ntoken: " + secret + "\n" + rest,
		"in another section":      in("  tokenFile: x") + "scrape: 'token: " + secret + "'\n",
		"swallowed by a quote":    "admin: {address: 'a\n  token: " + secret + "'}\n" + in("  tokenFile: x"),
		"the document as a text":  "'envoy token: " + secret + "'",
		"misspelt section":        "envoi: {token: " + secret + "}\n" + rest,
		"header of the scrape": in("  tokenFile: x") + "scrape: {tokenFile: y, tokenHeader: 'Bearer " + secret +
			"'}\n",
		"key of the scrape": in("  tokenFile: x") + "scrape: {token: " + secret + "}\n",
		"headers of the scrape": in("  tokenFile: x") + "scrape: {headers: {authorization: Bearer " + secret +
			"}}\n",
		"tls of the scrape":        in("  tokenFile: x") + "scrape: {scheme: https, tls: 'password: " + secret + "'}\n",
		"a key that is a sequence": "envoy: {[" + secret + "]: x}\n" + rest,
	}
	for name, document := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("sidecar.yaml", []byte(document))
			if err == nil {
				t.Fatalf("got no mistake in\n%s", document)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want no secret in it", err)
			}
		})
	}
}
