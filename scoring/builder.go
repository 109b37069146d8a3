package scoring

import (
	"strconv"

	"github.com/pintle-dev/pintle/strictjson"
)

// Builder is what a constructor gets: its parameters, read through the embedded object, and its surroundings. It is valid
// while the constructor runs.
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

// Profiles returns the names of all scheduling profiles. A profile's number is its place in this list.
func (b *Builder) Profiles() []string { return b.compiler.profileNames }

// Profile returns the number of the profile called name. If there is none it notes a mistake for the parameter key.
func (b *Builder) Profile(key, name string) int {
	for i, known := range b.compiler.profileNames {
		if known == name {
			return i
		}
	}
	b.Mistake(key, "no scheduling profile is named "+strconv.Quote(name))
	return 0
}

// Earlier returns the plug-in called name among those declared before this one, or nil.
func (b *Builder) Earlier(name string) Plugin {
	for i := range b.compiler.plugins {
		if b.compiler.plugins[i].name == name {
			return b.compiler.plugins[i].plugin
		}
	}
	return nil
}

// Warn tells the operator, once at start, of something that works but should change.
func (b *Builder) Warn(text string) {
	b.compiler.plan.warnings = append(b.compiler.plan.warnings, b.Path()+": "+text)
}
