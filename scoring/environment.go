package scoring

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Environment returns the value of an environment variable, by which a user of another project already configures what
// the plug-in does. It is a default: a parameter beats it. A variable that is empty counts as absent.
func (b *Builder) Environment(name string) (value string, ok bool) {
	if b.compiler.environment == nil {
		return "", false
	}
	value, ok = b.compiler.environment(name)
	value = strings.TrimSpace(value)
	return value, ok && value != ""
}

// EnvironmentInt sets dst to a variable that holds a whole number from least to most.
func (b *Builder) EnvironmentInt(name string, dst *int, least, most int) {
	value, ok := b.Environment(name)
	if !ok {
		return
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		b.wrongEnvironment(name, value, "a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
		return
	}
	*dst = n
}

// EnvironmentUint64 sets dst to a variable that holds a whole number of 64 bits.
func (b *Builder) EnvironmentUint64(name string, dst *uint64) {
	value, ok := b.Environment(name)
	if !ok {
		return
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		b.wrongEnvironment(name, value, "a whole number from 0 to "+strconv.FormatUint(math.MaxUint64, 10))
		return
	}
	*dst = n
}

// EnvironmentFloat sets dst to a variable that holds a number from 0 to most.
func (b *Builder) EnvironmentFloat(name string, dst *float64, most float64) {
	value, ok := b.Environment(name)
	if !ok {
		return
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > most {
		b.wrongEnvironment(name, value, "a number from 0 to "+strconv.FormatFloat(most, 'f', -1, 64))
		return
	}
	*dst = f
}

// EnvironmentOneOf sets dst to a variable that holds one of allowed.
func (b *Builder) EnvironmentOneOf(name string, dst *string, allowed ...string) {
	value, ok := b.Environment(name)
	if !ok {
		return
	}
	if !slices.Contains(allowed, value) {
		b.wrongEnvironment(name, value, "one of "+strings.Join(allowed, ", "))
		return
	}
	*dst = value
}

func (b *Builder) wrongEnvironment(name, value, want string) {
	b.Mistake("", "the environment variable "+name+" is "+strconv.Quote(value)+", not "+want)
}
