package pluginconfig

import (
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// Ingest says where the sidecar's snapshots are taken.
type Ingest struct {
	// Port is the local port of the ingest listener; 0 when it is a unix socket or when there is none.
	Port int
	// Socket is the path of the ingest listener's unix socket; empty when it is a port.
	Socket string
	// Token is the bearer token that a snapshot must carry; empty when TokenEnv tells where it is.
	Token string
	// TokenEnv names the variable of the module's environment that holds the token; empty when Token is it.
	TokenEnv string
}

// Enabled reports whether snapshots are taken at all.
func (i Ingest) Enabled() bool { return i.Port != 0 || i.Socket != "" }

// shortestToken is the least length of an ingest token that is not guessed in passing.
const shortestToken = 8

func (c *Config) readIngest(o *strictjson.Object) {
	o.Int("port", &c.Ingest.Port, 1, 65535)
	o.String("socket", &c.Ingest.Socket)
	o.SecretString("token", &c.Ingest.Token)
	o.String("tokenEnv", &c.Ingest.TokenEnv)
	o.Close()
	if !o.Present() {
		return
	}
	switch {
	case o.Has("port") && o.Has("socket"):
		o.Mistake("socket", strconv.Quote(c.Ingest.Socket)+
			" stands beside port; the ingest listener is one or the other")
	case o.Has("socket") && c.Ingest.Socket == "":
		o.Missing("socket", "give the path of the ingest listener's socket")
	case !o.Has("port") && !o.Has("socket"):
		o.Missing("port", "give the port or the socket of the ingest listener")
	}
	switch {
	case o.Has("token") && o.Has("tokenEnv"):
		o.Mistake("tokenEnv", strconv.Quote(c.Ingest.TokenEnv)+" stands beside token; the token is one or the other")
	case o.Has("tokenEnv") && (c.Ingest.TokenEnv == "" || strings.ContainsAny(c.Ingest.TokenEnv, "=\x00")):
		o.Mistake("tokenEnv", strconv.Quote(c.Ingest.TokenEnv)+" is no name of an environment variable")
	case o.Has("tokenEnv"):
	case c.Ingest.Token == "":
		o.Missing("token", "it needs at least "+strconv.Itoa(shortestToken)+" characters")
	default:
		if mistake := tokenMistake(c.Ingest.Token); mistake != "" {
			o.Mistake("token", mistake)
		}
	}
}

// tokenMistake says what is wrong with a token, without showing it.
func tokenMistake(token string) string {
	if strings.TrimSpace(token) != token {
		return "begins or ends with white space, which HTTP would strip"
	}
	if len(token) < shortestToken {
		return "has " + strconv.Itoa(len(token)) + " characters; it needs at least " + strconv.Itoa(shortestToken)
	}
	for i := range len(token) {
		if c := token[i]; c <= ' ' || c > '~' {
			return "has a character that the sidecar sends in no header; visible ASCII is right"
		}
	}
	return ""
}

// IngestToken returns the token that a snapshot must carry, from the module's environment where the configuration says
// so. Without an ingest it is empty.
func (c *Config) IngestToken(variable func(name string) (value string, ok bool)) (string, error) {
	name := c.Ingest.TokenEnv
	if name == "" {
		return c.Ingest.Token, nil
	}
	token, ok := variable(name)
	if !ok {
		return "", notInEnvironment("ingest.tokenEnv", name)
	}
	if mistake := tokenMistake(token); mistake != "" {
		return "", strictjson.Mistakes{"ingest.tokenEnv: the token in " + name + " " + mistake}
	}
	return token, nil
}

// notInEnvironment says that the variable that a key names is not there.
func notInEnvironment(key, name string) strictjson.Mistakes {
	return strictjson.Mistakes{key + ": the module's environment has no " + name +
		"; name it in vm_config.environment_variables or in a WasmPlugin's vmConfig.env"}
}

// LacksSecret says which secret the environment that the configuration was read in does not hold, nil if none is
// missing. Only where requests are salted is that a mistake.
func (c *Config) LacksSecret() error {
	if name := c.Plan.LacksSecret(); name != "" {
		return notInEnvironment("config: secretEnv", name)
	}
	return nil
}
