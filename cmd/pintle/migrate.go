package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/migrate"
	"github.com/pintle-dev/pintle/scoring"
)

// The exit codes of pintle migrate.
const (
	migratedAll  = 0
	migratedSome = 1
	migratedNone = 2
)

// runMigrate prints a document of another project in today's form. The exit code says how much of it is preserved: 0
// everything, 1 something, 2 nothing.
func runMigrate(args []string, stdout, stderr io.Writer) int {
	flags := command.NewFlags("pintle migrate", "FILE")
	dialect := dialectFlag(flags)
	args, path := takeFile(flags, args)
	if code, done := command.Parse(flags, args, stdout, stderr); done {
		return code
	}
	if path == "" {
		return command.Fail(flags, stderr, migratedNone,
			errors.New("name the file that holds the document: pintle migrate FILE"))
	}
	nothing := func(err error) int {
		command.Fail(flags, stderr, migratedNone, err)
		return command.Fail(flags, stderr, migratedNone, errors.New("nothing is preserved"))
	}
	text, err := readFile(path)
	if err != nil {
		return nothing(err)
	}
	result, err := migrate.Migrate(text, *dialect)
	if err != nil {
		return nothing(command.InFile(nameOf(path), err))
	}
	if _, err := io.WriteString(stdout, result.Text); err != nil {
		return nothing(err)
	}
	if result.Where != "" {
		fmt.Fprintf(stderr, "%s: reads %s (line %d); nothing else in the file counts\n", flags.Name(), result.Where,
			result.Line)
	}
	for _, removed := range result.Removed {
		fmt.Fprintf(stderr, "%s: no effect here: %s\n", flags.Name(), removed)
	}
	for _, differs := range result.Differs {
		fmt.Fprintf(stderr, "%s: differs: %s\n", flags.Name(), differs)
	}
	other, err := migrate.Migrate(text, scoring.DialectLLMD)
	if err == nil && len(other.Removed) < len(result.Removed) && *dialect == scoring.DialectUnsaid {
		fmt.Fprintf(stderr, "%s: more is preserved with -dialect llm-d: take that if the document is of llm-d\n",
			flags.Name())
	}
	if result.Kept == migrate.Everything {
		fmt.Fprintf(stderr, "%s: everything is preserved\n", flags.Name())
		return migratedAll
	}
	things := "things have"
	if len(result.Removed) == 1 {
		things = "thing has"
	}
	fmt.Fprintf(stderr, "%s: something is preserved: %d %s no effect, %d differ\n", flags.Name(), len(result.Removed),
		things, len(result.Differs))
	return migratedSome
}
