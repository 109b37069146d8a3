package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/scoring"
)

type explainOptions struct {
	config, endpoints, output string
	requests                  []string
	headers                   map[string]string
	seed                      uint64
	dialect                   *scoring.Dialect
}

// runExplain shows where requests would go and why. It exits with 1 when one of them is refused.
func runExplain(args []string, stdout, stderr io.Writer) int {
	o := explainOptions{headers: map[string]string{}}
	flags := command.NewFlags("pintle explain")
	flags.StringVar(&o.config, "c", "", "the plug-in configuration, YAML or JSON (required)")
	flags.StringVar(&o.endpoints, "e", "", "the endpoints and their metrics, YAML or JSON (required)")
	flags.StringVar(&o.output, "o", "text", "output: text or json")
	flags.Uint64Var(&o.seed, "seed", 0, "makes random choices repeatable; without it they are others each time")
	o.dialect = dialectFlag(flags)
	flags.Func("r", "a request body; several are decided one after another (required)", func(path string) error {
		o.requests = append(o.requests, path)
		return nil
	})
	flags.Func("H", "a request header `name: value`; :path and :method are those of the request", o.readHeader)
	if code, done := command.Parse(flags, args, stdout, stderr, "c", "e"); done {
		return code
	}
	o.seedUnlessGiven(flags)
	if len(o.requests) == 0 {
		return command.Fail(flags, stderr, 2, errors.New("flag -r is missing: a request body (required)"))
	}
	if o.output != "text" && o.output != "json" {
		return command.Fail(flags, stderr, 2, fmt.Errorf("flag -o: %q is not text or json", o.output))
	}
	if err := once(append(o.requests, o.config, o.endpoints)...); err != nil {
		return command.Fail(flags, stderr, 2, err)
	}
	return o.run(flags, stdout, stderr)
}

// seedUnlessGiven draws a seed where the flag does not say one.
func (o *explainOptions) seedUnlessGiven(flags *flag.FlagSet) {
	given := false
	flags.Visit(func(f *flag.Flag) { given = given || f.Name == "seed" })
	if !given {
		o.seed = rand.Uint64()
	}
}

// readHeader reads a header. Of several of one name the first one counts, as in the filter.
func (o explainOptions) readHeader(text string) error {
	name, value, ok := explain.HeaderFlag(text)
	if !ok {
		return fmt.Errorf("%q is not of the form name: value", text)
	}
	if _, given := o.headers[name]; !given {
		o.headers[name] = value
	}
	return nil
}

func (o explainOptions) run(flags *flag.FlagSet, stdout, stderr io.Writer) int {
	now := time.Now().UnixNano()
	config, _, err := readConfig(o.config, *o.dialect)
	if err != nil {
		return command.Fail(flags, stderr, 2, err)
	}
	text, err := readFile(o.endpoints)
	if err != nil {
		return command.Fail(flags, stderr, 2, err)
	}
	pool, err := explain.ReadEndpoints(text, now)
	if err != nil {
		return command.Fail(flags, stderr, 2, command.InFile(nameOf(o.endpoints), err))
	}
	for _, w := range config.Warnings() {
		fmt.Fprintf(stderr, "%s: warning: %s\n", flags.Name(), strings.TrimSpace(w))
	}
	code := 0
	x := explain.New(config, pool, o.seed)
	for _, path := range o.requests {
		body, err := readFile(path)
		if err != nil {
			return command.Fail(flags, stderr, 2, err)
		}
		result := x.Explain(explain.Request{Headers: o.headers, Body: body}, now)
		if result.Error != nil {
			code = 1
		}
		if err := o.write(stdout, result); err != nil {
			return command.Fail(flags, stderr, 1, err)
		}
	}
	return code
}

func (o explainOptions) write(stdout io.Writer, result *explain.Explanation) error {
	if o.output == "text" {
		return result.WriteText(stdout)
	}
	encoder := json.NewEncoder(stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(result)
}
