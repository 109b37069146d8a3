package strictjson

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Mistakes are all that is wrong with a document, in the order found. An empty list is not an error.
type Mistakes []string

// Error implements error: one line for each mistake.
func (m Mistakes) Error() string { return strings.Join(m, "\n") }

// Mistake notes that the value of key is wrong; text says why and what would be right. An empty key means the object
// itself.
func (o *Object) Mistake(key, text string) { o.document.add(o.at(key), text) }

// Missing notes that the value of key is missing or empty, unless it is known to be wrong already; text says what it is
// for. The caller has found it to be empty.
func (o *Object) Missing(key, text string) {
	prefix := o.at(key) + ": "
	for _, mistake := range o.document.mistakes {
		if strings.HasPrefix(mistake, prefix) {
			return
		}
	}
	state := "is missing; "
	if o.Has(key) {
		state = "is empty; "
	}
	o.Mistake(key, state+text)
}

// Close notes every key that no getter asked for.
func (o *Object) Close() {
	for i := range o.members {
		switch m := &o.members[i]; {
		case m.used:
		case o.secret && m.value.Type == gjson.Null:
			// A secret whose colon has no blank behind it is a key without a value.
			o.Mistake("", "unknown key without a value"+o.hint(""))
		default:
			o.Mistake("", "unknown key "+strconv.Quote(m.key)+o.hint(m.key))
		}
	}
}

// hint says what could be meant by an unknown key.
func (o *Object) hint(key string) string {
	if len(o.known) == 0 {
		return "; no keys are allowed here"
	}
	names := make([]string, len(o.known))
	for i, k := range o.known {
		names[i] = k.Name
	}
	return Hint(key, names, "known are")
}

func (o *Object) wrong(key string, value gjson.Result, want string) {
	shown := excerpt(value.Raw)
	if o.secret {
		shown = "the value"
		if bare := value.Type == gjson.Number || value.IsBool(); bare && want == "a string" {
			want += "; in quotes it is one"
		}
	}
	o.Mistake(key, shown+" is not "+want)
}

// secretWords are in texts that hold a secret, when a quote or a colon went astray.
var secretWords = []string{"token:", "token=", "token\"", "secret", "password", "authorization", "bearer"}

// Quote is how a text is shown in a mistake: in quotes, cut when it is long, and not at all when it has a secret in it.
func Quote(text string) string { return excerpt(strconv.Quote(text)) }

// excerpt shortens a value for a message, and does not show one that has a secret in it.
func excerpt(raw string) string {
	const most = 60
	lower := strings.ToLower(raw)
	for _, word := range secretWords {
		if strings.Contains(lower, word) {
			return "the value"
		}
	}
	raw = strings.Join(strings.Fields(raw), " ")
	if len(raw) <= most {
		return raw
	}
	cut := most
	for cut > 0 && raw[cut]&0xc0 == 0x80 {
		cut--
	}
	return raw[:cut] + "..."
}
