package kvindex

import (
	"strconv"
	"strings"
)

// What others have written is read as if anybody could write there.
const (
	// maxField bounds the bytes of what names a holder: an endpoint's name has at most some 320.
	maxField = 1024
	// maxFields bounds the holders of a key that are looked at, and the publishers of which it is known who hears them.
	maxFields = 1 << 16
	// maxInstances bounds the sidecars. Where more are named, any of them count for a period.
	maxInstances = 1024
)

// holderField is a field of a key's hash: who has written it, and which rank has the block in which tier.
type holderField struct {
	instance, rank, endpoint string
	number                   int // of the rank
	tier                     Tier
}

// readField reads INSTANCE|RANK|TIER|ENDPOINT as fieldOf writes it.
func readField(text string) (f holderField, ok bool) {
	if len(text) > maxField {
		return f, false
	}
	var tier string
	var found [3]bool
	f.instance, text, found[0] = strings.Cut(text, "|")
	f.rank, text, found[1] = strings.Cut(text, "|")
	tier, f.endpoint, found[2] = strings.Cut(text, "|")
	var err error
	f.number, err = strconv.Atoi(f.rank)
	if found != [3]bool{true, true, true} || err != nil || f.number < 0 || f.number >= MaxRanks ||
		strconv.Itoa(f.number) != f.rank || len(tier) != 1 || tier[0] < '0' || tier[0] >= '0'+Tiers {
		return f, false
	}
	f.tier = Tier(tier[0] - '0')
	return f, true
}

// who is the run that a field is of.
func (f *holderField) who() string { return f.instance + "|" + f.rank + "|" + f.endpoint }

// readMember reads what an instance has written of a field, KEY FIELD. It is not ours when it names anything else than
// a block's key: nobody has a sidecar delete other things.
func readMember(member string) (name, field string, ours bool) {
	name, field, found := strings.Cut(member, " ")
	digits, ours := strings.CutPrefix(name, keyPrefix)
	if !found || !ours {
		return "", "", false
	}
	key, err := strconv.ParseUint(digits, 16, 64)
	return name, field, err == nil && keyName(Key(key)) == name
}

// readHeard leaves out what no sidecar writes of who hears which publisher.
func readHeard(said map[string]string) map[string]string {
	kept := make(map[string]string, min(len(said), maxFields))
	for field, instance := range said {
		if len(field)+len(instance) <= maxField && len(kept) < maxFields {
			kept[field] = instance
		}
	}
	return kept
}
