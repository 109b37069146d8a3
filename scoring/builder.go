package scoring

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/state"
)

// Builder is what a constructor gets: its parameters, read through the embedded object, and its surroundings. It is
// valid while the constructor runs.
type Builder struct {
	*strictjson.Object
	// Type and Name are the plug-in's type and its name in the configuration.
	Type, Name string

	compiler *compiler
}

// RequestHeader asks for the value of a request header at decision time. name is in lower case.
func (b *Builder) RequestHeader(name string) HeaderKey {
	headers := &b.compiler.plan.requestHeaders
	for i, known := range *headers {
		if known == name {
			return HeaderKey(i)
		}
	}
	*headers = append(*headers, name)
	return HeaderKey(len(*headers) - 1)
}

// OwnRequestHeader makes a request header the plug-in's: what a client sends under this name is removed. name is in
// lower case.
func (b *Builder) OwnRequestHeader(name string) {
	b.compiler.plan.ownedHeaders = append(b.compiler.plan.ownedHeaders, name)
}

// Profiles returns the names of all scheduling profiles. A profile's number is its place in this list.
func (b *Builder) Profiles() []string { return b.compiler.profileNames }

// Profile returns the number of the profile called name. If there is none it notes a mistake for the parameter key.
func (b *Builder) Profile(key, name string) int {
	i := slices.Index(b.compiler.profileNames, name)
	if i < 0 {
		b.Mistake(key, "no scheduling profile is named "+strconv.Quote(name)+
			strictjson.Hint(name, b.compiler.profileNames, "the profiles are"))
		return 0
	}
	return i
}

// Plugin returns the plug-in called name, wherever it is declared, or nil if there is none or it names this one.
func (b *Builder) Plugin(name string) Plugin {
	if d := b.compiler.use(name); d != nil {
		return d.plugin
	}
	return nil
}

// PluginOfType is the first plug-in of a type in the list, built if it was not yet; nil where there is none.
func (b *Builder) PluginOfType(kind string) Plugin {
	if i := slices.Index(b.compiler.declaredTypes, kind); i >= 0 {
		return b.Plugin(b.compiler.declaredNames[i])
	}
	return nil
}

// Declared reports whether a plug-in of this name stands anywhere in the list, also after this one.
func (b *Builder) Declared(name string) bool {
	return slices.Contains(b.compiler.declaredNames, name) ||
		slices.ContainsFunc(b.compiler.entries, func(e entry) bool { return e.meant == name && name != "" })
}

// NotDeclared says that no plug-in has a name, and which there are, for a mistake.
func (b *Builder) NotDeclared(name string) string { return b.compiler.notDeclared(name) }

// Doubtful reports whether the type of the plug-in called name is unknown or, without a name, that of any one. What
// seems to be missing then may follow from that mistake, and is none of its own.
func (b *Builder) Doubtful(name string) bool {
	if name == "" {
		return b.compiler.unknown
	}
	d := b.compiler.find(name)
	return d != nil && d.plugin == nil
}

// DeclaredType reports whether a plug-in of one of the types stands anywhere in the list.
func (b *Builder) DeclaredType(types ...string) bool {
	for _, kind := range b.compiler.declaredTypes {
		if slices.Contains(types, kind) {
			return true
		}
	}
	return false
}

// Known reports whether kind is the type of a plug-in, declared or not.
func (b *Builder) Known(kind string) bool {
	return slices.ContainsFunc(b.compiler.registry, func(r Registration) bool { return r.Type == kind })
}

// Announcers are the declared plug-ins of the types that tell the decode server of other stages.
func (b *Builder) Announcers(types ...string) []StageAnnouncer {
	c := b.compiler
	for i := range c.entries {
		if slices.Contains(types, c.entries[i].kind) {
			c.declare(&c.entries[i])
		}
	}
	var all []StageAnnouncer
	for i := range c.plugins {
		if a, ok := c.plugins[i].plugin.(StageAnnouncer); ok {
			all = append(all, a)
		}
	}
	return all
}

// Supply declares a plug-in of the type, for configurations that legitimately leave it out, and tells the operator. Its
// parameters have their defaults, but for those given.
func (b *Builder) Supply(kind string, parameters ...strictjson.Pair) Plugin {
	b.Warn("no " + kind + " is declared; one with default parameters is used")
	return b.Add(kind, parameters...)
}

// Add is Supply for what the operator need not be told.
func (b *Builder) Add(kind string, parameters ...strictjson.Pair) Plugin {
	return b.compiler.build(b.Object, strictjson.FromPairs(b.Object, parameters), kind, kind)
}

// orUsual is the name of the plug-in that name refers to. An empty one stands for usual, a type that is added under its
// own name where the document has no plug-in of that name.
func (b *Builder) orUsual(name, usual string) string {
	name = cmp.Or(name, usual)
	if name == usual && !b.Declared(name) && b.compiler.find(name) == nil {
		b.Add(name)
	}
	return name
}

// State returns the options of the state that the plug-ins share, for a constructor to switch on the parts that it
// reads.
func (b *Builder) State() *state.Options { return &b.compiler.plan.state }

// ReportFields are the fields of the message on a request that access logs read, beside those of reporters.
var ReportFields = []string{"model", "served_model", "endpoint", "profile", "strategy", "predicted_cached_tokens",
	"rank", "refused", "input_tokens", "output_tokens", "cached_tokens", "ttft_ms", "shadow_endpoint"}

// Reports makes a field of the message on a request the plug-in's; taken is called where it is another's.
func (b *Builder) Reports(name string, taken func(text string)) {
	reported := &b.compiler.plan.reported
	if slices.Contains(ReportFields, name) || slices.Contains(*reported, name) {
		taken(strconv.Quote(name) + " is the name of another field")
		return
	}
	*reported = append(*reported, name)
}

// deaf are the types whose parameters llm-d's router does not look at, though Pintle has some for them.
var deaf = []string{"decode-filter", "encode-filter", "prefill-filter", "running-requests-size-scorer"}

// ignoreParameters tells the operator of parameters at a plug-in that has none. Endpoint pickers do not look at them,
// so they are no mistake.
func (b *Builder) ignoreParameters() {
	none := len(b.Object.Known()) == 0
	if !none && (b.Defaults().Dialect != DialectLLMD || !slices.Contains(deaf, b.Type)) {
		return
	}
	for _, key := range b.Unasked() {
		b.Warn("parameters." + key + " has no effect: " + b.Type + " has no such parameter")
		b.Drop(key)
	}
}

// Int is Object.Int. In llm-d's dialect, whose numbers have 64 bits, one that is too large for a bound of 31 bits
// counts as that, which the operator is told.
func (b *Builder) Int(key string, dst *int, least, most int) {
	n, whole := b.Whole(key)
	if !whole || n <= int64(most) || most != math.MaxInt32 || b.Defaults().Dialect != DialectLLMD {
		b.Object.Int(key, dst, least, most)
		return
	}
	b.Object.Int64(key, &n, int64(least), math.MaxInt64)
	*dst = most
	b.Warn(key + ": " + b.Raw(key) + " counts as " + strconv.Itoa(most))
}

// OneOf is Object.OneOf. In llm-d's dialect an empty text is as if nothing was given.
func (b *Builder) OneOf(key string, dst *string, allowed ...string) {
	b.dropEmpty(key)
	b.Object.OneOf(key, dst, allowed...)
}

// Duration is Object.Duration. In llm-d's dialect an empty text is as if nothing was given.
func (b *Builder) Duration(key string, dst *time.Duration, least time.Duration) {
	b.dropEmpty(key)
	b.Object.Duration(key, dst, least)
}

func (b *Builder) dropEmpty(key string) {
	if b.Defaults().Dialect == DialectLLMD && b.Raw(key) == `""` {
		b.Drop(key)
	}
}

// IntWithin is Int where llm-d's router refuses nothing: in its dialect what is too small counts as the default, and
// what is too large as the most, which the operator is told.
func (b *Builder) IntWithin(key string, dst *int, least, most int) {
	n, whole := b.Whole(key)
	if whole && (n < int64(least) || n > int64(most)) && b.Defaults().Dialect == DialectLLMD {
		if n > int64(most) {
			*dst = most
		}
		b.countsAs(key, strconv.Itoa(*dst))
	}
	b.Int(key, dst, least, most)
}

// FloatWithin is Float where llm-d's router refuses nothing: in its dialect what is out of range counts as the default,
// which the operator is told.
func (b *Builder) FloatWithin(key string, dst *float64, least, most float64) {
	f, err := strconv.ParseFloat(b.Raw(key), 64)
	if err == nil && !(f >= least && f <= most) && b.Defaults().Dialect == DialectLLMD {
		b.countsAs(key, strconv.FormatFloat(*dst, 'f', -1, 64))
	}
	b.Float(key, dst, least, most)
}

// countsAs takes a parameter out and tells the operator what holds in its place.
func (b *Builder) countsAs(key, value string) {
	b.Warn(key + ": " + b.Raw(key) + " counts as " + value)
	b.Drop(key)
}

// Warn tells the operator, once at start, of something that works but should change.
func (b *Builder) Warn(text string) {
	b.compiler.plan.warnings = append(b.compiler.plan.warnings, b.Name+": "+text)
}

// NoEffect tells the operator that a parameter is read, if it is given, and why it changes nothing.
func (b *Builder) NoEffect(key, why string) {
	if b.Has(key) {
		b.Warn(key + " has no effect: " + why)
	}
	b.Drop(key)
}
