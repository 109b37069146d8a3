package config

import (
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/address"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/stores"
)

// Replicate says how gateways share what they know.
type Replicate struct {
	Redis scoring.StoreRedis
	// Access is how TLS is made with its servers; without HTTPS the URL says so. SentinelPassword is that of the
	// Sentinels.
	Access           topology.Access
	SentinelPassword string
	// Stream is the key of the stream, MaxLen how many entries it keeps, or a few more.
	Stream string
	MaxLen int
	// Gateway is this one's name among all.
	Gateway string
	// Key is what entries are signed with; empty is the token of the ingest listeners.
	Key string
	// Interval is how often Envoy is asked for what is new.
	Interval time.Duration
}

// DefaultReplicateInterval is the default of Replicate.Interval. Each exchange costs as much as a request, whatever is
// in it; with 40 ms gateways learn of each other within 100.
const DefaultReplicateInterval = 40 * time.Millisecond

// mostName bounds the names of gateways and streams.
const mostName = 100

// readReplicate shows no value of o but names.
func (c *Config) readReplicate(o *strictjson.Object) {
	r := &Replicate{Stream: "pintle", MaxLen: 20_000, Interval: DefaultReplicateInterval}
	if strings.HasPrefix(o.Raw("redis"), "{") {
		stores.ReadServers(o.Secret("redis"), &r.Redis)
	} else {
		o.String("redis", &r.Redis.Address)
		if problem := address.Redis(r.Redis.Address); o.Has("redis") && problem != "" {
			o.Mistake("redis", address.Shown(r.Redis.Address)+" "+problem+
				"; one such as redis://host:6379 is right, or an object with address or addresses")
		}
	}
	o.String("stream", &r.Stream)
	o.Int("maxLen", &r.MaxLen, 100, math.MaxInt32)
	o.String("gateway", &r.Gateway)
	o.Duration("interval", &r.Interval, shortestPeriod)
	key, keyFile := "", ""
	o.String("key", &key)
	o.String("keyFile", &keyFile)
	password, sentinelPassword := "", ""
	o.String("passwordFile", &password)
	o.String("sentinelPasswordFile", &sentinelPassword)
	c.readReplicateTLS(o, r)
	o.Close()
	if !o.Present() {
		return
	}
	if !o.Has("redis") {
		o.Missing("redis", "the URL of a Redis or Valkey is right, such as redis://host:6379")
	}
	if r.Gateway == "" && !o.Has("gateway") {
		r.Gateway, _ = os.Hostname()
	}
	checkName(o, "stream", r.Stream)
	checkName(o, "gateway", r.Gateway)
	if o.Has("passwordFile") && hasPassword(&r.Redis) {
		o.Mistake("passwordFile", "redis has a password, too; one of them is right")
	}
	c.readPassword(o, "passwordFile", password, &r.Redis.Password)
	c.readPassword(o, "sentinelPasswordFile", sentinelPassword, &r.SentinelPassword)
	if o.Has("sentinelPasswordFile") && r.Redis.MasterName == "" {
		o.Mistake("sentinelPasswordFile", "is of no use without masterName")
	}
	r.Key = c.replicateKey(o, key, keyFile)
	c.Replicate = r
}

func checkName(o *strictjson.Object, key, name string) {
	if name == "" || len(name) > mostName || strings.ContainsAny(name, "\x00\n/") {
		o.Mistake(key, strictjson.Quote(name)+" is no name; one of 1 to "+strconv.Itoa(mostName)+
			" bytes without a slash is right")
	}
}

// hasPassword reports whether servers are given with their password.
func hasPassword(r *scoring.StoreRedis) bool {
	if u, err := url.Parse(r.Address); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return true
		}
	}
	return r.Password != ""
}

// readReplicateTLS reads tls, which a URL must ask for.
func (c *Config) readReplicateTLS(o *strictjson.Object, r *Replicate) {
	t := o.Object("tls")
	r.Access.HTTPS = t.Present()
	r.Access.ReadTLS(t, filepath.Dir(c.Path))
	if scheme, _, ok := strings.Cut(r.Redis.Address, "://"); t.Present() && ok && scheme != "rediss" &&
		scheme != "valkeys" {
		o.Mistake("tls", "is of no use with such a URL; rediss:// or valkeys:// is right")
	}
}

// readPassword reads a file with a password whose path stands under key.
func (c *Config) readPassword(o *strictjson.Object, key, path string, password *string) {
	if !o.Has(key) {
		return
	}
	var err error
	if *password, err = c.readSecret(c.path(o, key, path)); err != nil {
		o.Mistake(key, err.Error())
	}
}

// readSecret is ReadToken of a file that is read at the start alone.
func (c *Config) readSecret(path string) (string, error) {
	if secret, known := c.secrets[path]; known {
		return secret, nil
	}
	secret, err := ReadToken(path)
	if err != nil {
		return "", err
	}
	if c.secrets == nil {
		c.secrets = map[string]string{}
	}
	c.secrets[path] = secret
	return secret, nil
}

// replicateKey is what entries are signed with; empty leaves that to the token.
func (c *Config) replicateKey(o *strictjson.Object, key, keyFile string) string {
	switch {
	case o.Has("key") && o.Has("keyFile"):
		o.Mistake("keyFile", "key is there, too; one of them is right")
	case o.Has("keyFile"):
		var err error
		if key, err = c.readSecret(c.path(o, "keyFile", keyFile)); err != nil {
			o.Mistake("keyFile", err.Error())
		}
	case o.Has("key"):
		if err := topology.CheckToken(key); err != nil {
			o.Mistake("key", err.Error())
		}
	}
	return key
}
