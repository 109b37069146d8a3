// Hint writes a Wasm module with hints of its branches, by a profile:
//
//	hint -profile filter/branches.txt -o bin/pintle.wasm bin/pintle.unhinted.wasm
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/pintle-dev/pintle/internal/branchhints"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "hint:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	f := flag.NewFlagSet("hint", flag.ContinueOnError)
	profilePath := f.String("profile", "", "the profile to go by")
	output := f.String("o", "", "the file to write")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *profilePath == "" || *output == "" || f.NArg() != 1 {
		return errors.New("want -profile, -o and a module")
	}
	text, err := os.ReadFile(*profilePath)
	if err != nil {
		return err
	}
	profile, err := branchhints.ReadProfile(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", *profilePath, err)
	}
	wasm, err := os.ReadFile(f.Arg(0))
	if err != nil {
		return err
	}
	module, err := branchhints.Parse(wasm)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Arg(0), err)
	}
	hinted, fit := module.Hinted(profile)
	fmt.Printf("hint: %d of %d branches have a hint; %d of the profile's %d functions are in the module\n", fit.Hints,
		fit.Branches, fit.Found, fit.Known)
	return os.WriteFile(*output, hinted, 0o644)
}
