package replicate

import (
	"errors"
	"fmt"
	"time"
)

// refusedAge is how long ago the last entry that was refused may have been said for its gateway to be there still, and
// the last post that Envoy refused for it to do so still.
const refusedAge = 3 * heartbeat

// byEnvoy is the word by which posts that Envoy refuses are counted.
const byEnvoy = "envoy"

// refusal is why an entry is not taken: the word by which that is counted, and what is to be done where the gateways
// themselves are the reason.
type refusal struct{ reason, advice string }

// Error implements error.
func (r *refusal) Error() string { return r.reason }

var (
	errTorn    = &refusal{reason: "torn"}
	errForeign = &refusal{"foreign", "entries with another key, or of another stream, are refused: have all gateways " +
		"of the stream use one key"}
)

// otherVersion refuses an entry, or a sample in one, of another version of its format.
func otherVersion(theirs, own int) *refusal {
	upgrade := "upgrade the gateways that write them"
	if theirs > own {
		upgrade = "upgrade this gateway"
	}
	return &refusal{"version", fmt.Sprintf("entries of version %d are refused, as this pintle reads version %d: %s",
		theirs, own, upgrade)}
}

// refused is what is refused for one reason.
type refused struct {
	advice string
	said   time.Time // the last one
}

// there reports whether it is refused still.
func (r refused) there(now time.Time) bool { return r.advice != "" && now.Sub(r.said) <= refusedAge }

// refuse takes down that an entry is refused. What can be mended at the gateways is logged when it begins.
func (r *reader) refuse(err error, id streamID) {
	why := errTorn
	_ = errors.As(err, &why) // all that refuse an entry are refusals
	r.count(why.reason)
	if why.advice == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.refusing[why.reason]
	was := last.there(time.Now())
	// What was said before the start may be of this gateway itself, as it was then.
	if said := r.said(id, now()); said.After(r.began) && said.After(last.said) {
		last = refused{why.advice, said}
	}
	r.refusing[why.reason] = last
	if !was && last.there(time.Now()) {
		r.log.Warn("entries of other gateways are refused", "gateway", r.Gateway, "error", why.advice)
	}
}

// refusedByEnvoy takes down that Envoy refuses a post. It is logged when it begins: there are many posts in a second.
func (r *reader) refusedByEnvoy(err error) {
	r.count(byEnvoy)
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if !r.refusing[byEnvoy].there(now) {
		r.log.Warn("envoy refuses events of other gateways", "gateway", r.Gateway, "error", err)
	}
	r.refusing[byEnvoy] = refused{"envoy refuses events of other gateways: " + err.Error(), now}
}

// count counts what is refused.
func (r *reader) count(reason string) {
	r.metrics.refused.WithLabelValues(reason).Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[reason]++
}
