// Command pintle is everything of Pintle that runs outside Envoy: the sidecar, a simulated model server, and the tools
// that check, explain and try a configuration.
package main

import (
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
)

const usage = `pintle steers LLM requests inside Envoy. Commands:

  pintle sidecar  -c sidecar.yaml                       scrape model servers, push snapshots to Envoy
  pintle validate -c plugin-config.yaml                 check a filter configuration
  pintle explain  -c plugin-config.yaml -e endpoints.yaml -r request.json
                                                        show where a request would go and why
  pintle migrate FILE                                   write another project's document in today's form
  pintle record   -c sidecar.yaml -o FILE               record what Envoy decides and what becomes of it
  pintle replay   -c plugin-config.yaml TRACE           decide a trace's requests again, in simulated time
  pintle sim                                            serve simulated model servers
  pintle version                                        say which pintle this is

Each command has -h. Where validate, explain, migrate and replay are given a file, - is the standard input.
`

// commands take their arguments and return the exit code: 0 done, 1 failed, 2 wrong arguments or configuration.
var commands = map[string]func(args []string, stdout, stderr io.Writer) int{
	"explain":  runExplain,
	"migrate":  runMigrate,
	"record":   runRecord,
	"replay":   runReplay,
	"sidecar":  runSidecar,
	"sim":      runSim,
	"validate": runValidate,
	"version":  runVersion,
}

func main() {
	log.SetOutput(unquoted{os.Stderr})
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return 2
	}
	if command, ok := commands[args[0]]; ok {
		out := &output{Writer: stdout}
		code := command(args[1:], out, stderr)
		if code == 0 && out.err != nil {
			fmt.Fprintf(stderr, "pintle %s: %v\n", args[0], out.err)
			return 1
		}
		return code
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		fmt.Fprint(stdout, usage)
		return 0
	case "-version", "--version":
		return runVersion(args[1:], stdout, stderr)
	}
	fmt.Fprintf(stderr, "pintle: unknown command %q; known are %s\n", args[0],
		strings.Join(slices.Sorted(maps.Keys(commands)), ", "))
	return 2
}

// output keeps the first mistake of a writer, so that a command whose result nobody has does not pass for done.
type output struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}
