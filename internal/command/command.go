// Package command is what all commands of pintle have in common: how they read their flags, show their help and say
// what is wrong.
package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// NewFlags returns the flags of a command, such as "pintle sidecar". Its help names the arguments that it takes beside
// them.
func NewFlags(name string, arguments ...string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "Usage of %s:\n", strings.Join(append([]string{name}, arguments...), " "))
		flags.PrintDefaults()
	}
	return flags
}

// Parse reads args, which are flags alone, of which the required must be there. done says that the command ends with
// code: it showed its help on stdout, or said on stderr what is wrong.
func Parse(flags *flag.FlagSet, args []string, stdout, stderr io.Writer, required ...string) (code int, done bool) {
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(stdout)
		flags.Usage()
		return 0, true
	}
	if err == nil && flags.NArg() > 0 {
		example := ""
		if len(required) > 0 && flags.Lookup(required[0]).Value.String() == "" {
			example = ", such as -" + required[0] + " " + flags.Arg(0)
		}
		err = fmt.Errorf("argument %q is unknown; flags alone are right%s", flags.Arg(0), example)
	}
	for _, name := range required {
		if f := flags.Lookup(name); err == nil && f.Value.String() == "" {
			_, usage := flag.UnquoteUsage(f)
			err = fmt.Errorf("flag -%s is missing: %s", name, usage)
		}
	}
	if err != nil {
		return Fail(flags, stderr, 2, withUnit(flags, err)), true
	}
	return 0, false
}

// withUnit says of a time that cannot be read what would be right: most often it has no unit, of which Go's package
// says nothing.
func withUnit(flags *flag.FlagSet, err error) error {
	_, rest, _ := strings.Cut(err.Error(), " for flag -")
	name, _, _ := strings.Cut(rest, ":")
	f := flags.Lookup(name)
	said, unread := strings.CutSuffix(err.Error(), ": parse error")
	if f == nil || !unread {
		return err
	}
	if value, ok := f.Value.(flag.Getter); ok {
		if _, isTime := value.Get().(time.Duration); isTime {
			return errors.New(said + ": want a time such as 500ms or 5s")
		}
	}
	return err
}

// Fail says what is wrong, each line of it with the command's name, and returns code: 1 when the command failed, 2 when
// its arguments or the documents that they name are wrong.
func Fail(flags *flag.FlagSet, stderr io.Writer, code int, err error) int {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(stderr, "%s: %s\n", flags.Name(), line)
	}
	return code
}

// InFile puts a file's name before each line of err.
func InFile(path string, err error) error {
	if err == nil {
		return nil
	}
	return errors.New(path + ": " + strings.ReplaceAll(err.Error(), "\n", "\n"+path+": "))
}
