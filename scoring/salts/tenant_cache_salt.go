package salts

import (
	"encoding/base64"
	"hash"
	"strconv"
	"strings"

	"golang.org/x/crypto/blake2s"

	"github.com/pintle-dev/pintle/scoring"
)

// tenantCacheSalt keeps the prompts of tenants apart in the servers' prefix caches. Whoever shares a cache can find out
// what others have asked: a prompt that begins like one of theirs is answered sooner (CVE-2025-46570). So each request
// leaves with a cache_salt of its tenant, which servers make part of what they look prompts up by. It takes the place
// of the client's own, by which it differs within the tenant. Everything here that knows prompts goes by it, too.
//
// It takes part by being declared. Which engines heed a salt for which requests, and what it costs, is in
// [operations.md](operations.md#keeping-tenants-apart-in-caches).
//
// Formula: the 16 bytes of BLAKE2s, keyed by BLAKE2s-256 of the secret, of the tenant, a zero byte and the JSON value
// of the client's cache_salt, in base64url. Without the client's, and where that is null, nothing follows the zero
// byte.
//
// Missing data: requests without the header are one tenant, which shares no cache with those that have it.
//
// Source: Pintle. The field is vLLM's, SGLang's and TensorRT-LLM's.
type tenantCacheSalt struct {
	tenant  scoring.HeaderKey
	lacks   string
	mac     hash.Hash
	scratch []byte
}

type tenantCacheSaltParameters struct {
	// TenantHeader is the request header that names the tenant. It must come from a filter in front that knows who
	// asks and overwrites what clients send: of several the first counts.
	TenantHeader string
	// Secret is what salts are made with, of at least 16 characters. All gateways before the same servers need the same
	// one. Either it or secretEnv is needed.
	Secret string
	// SecretEnv names a variable of the module's environment that holds the secret.
	SecretEnv string
}

// shortestSecret is the least length of a secret that nobody guesses.
const shortestSecret = 16

// NewTenantCacheSalt builds a tenant-cache-salt.
func NewTenantCacheSalt(b *scoring.Builder) scoring.Plugin {
	p := tenantCacheSaltParameters{}
	b.HeaderName("tenantHeader", &p.TenantHeader)
	b.SecretString("secret", &p.Secret)
	b.String("secretEnv", &p.SecretEnv)
	s := &tenantCacheSalt{}
	if p.TenantHeader == "" {
		b.Missing("tenantHeader", "name the header that says who asks")
	}
	s.tenant = b.RequestHeader(p.TenantHeader)
	switch {
	case p.SecretEnv != "" && b.Has("secret"):
		b.Mistake("secretEnv", strconv.Quote(p.SecretEnv)+" stands beside secret; it is one or the other")
	case strings.ContainsAny(p.SecretEnv, "=\x00"):
		b.Mistake("secretEnv", strconv.Quote(p.SecretEnv)+" is no name of an environment variable")
	case p.SecretEnv != "":
		secret, ok := b.Environment(p.SecretEnv)
		if !ok {
			s.lacks = p.SecretEnv
			break
		}
		p.Secret = secret
		checkSecret(b, "secretEnv", "the secret in "+p.SecretEnv+" ", secret)
	case p.Secret == "":
		b.Missing("secret", "it needs at least "+strconv.Itoa(shortestSecret)+" characters; or name a variable that "+
			"holds it by secretEnv")
	default:
		checkSecret(b, "secret", "", p.Secret)
	}
	s.mac = keyed(p.Secret)
	return s
}

// keyed is the function that makes salts with a secret of any length. Its 16 bytes are enough for tenants never to
// share one by chance.
func keyed(secret string) hash.Hash {
	key := blake2s.Sum256([]byte(secret))
	mac, err := blake2s.New128(key[:])
	if err != nil {
		panic(err) // a key of 32 bytes is right
	}
	return mac
}

// checkSecret notes a secret that is too short, without showing it.
func checkSecret(b *scoring.Builder, key, which, secret string) {
	if len(secret) < shortestSecret {
		b.Mistake(key, which+"has "+strconv.Itoa(len(secret))+" characters; it needs at least "+
			strconv.Itoa(shortestSecret))
	}
}

// Lacks implements scoring.Salter.
func (s *tenantCacheSalt) Lacks() string { return s.lacks }

// AppendSalt implements scoring.Salter.
func (s *tenantCacheSalt) AppendSalt(dst []byte, r *scoring.Request) []byte {
	s.scratch = append(append(s.scratch[:0], r.Header(s.tenant)...), 0)
	span := r.Body.SaltSpan
	if own := r.BodyBytes[span.Start:span.End]; string(own) != "null" {
		s.scratch = append(s.scratch, own...)
	}
	s.mac.Reset()
	s.mac.Write(s.scratch)
	s.scratch = s.mac.Sum(s.scratch[:0])
	return base64.RawURLEncoding.AppendEncode(dst, s.scratch)
}
