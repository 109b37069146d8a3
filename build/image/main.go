// Command image packs the Wasm module as an OCI image, without a container engine, and pushes it.
//
//	image sbom  -module bin/pintle.wasm -package ./filter -compiler v0.41.1 > bin/pintle.wasm.spdx.json
//	image pack  -module bin/pintle.wasm -sbom bin/pintle.wasm.spdx.json -o bin/image
//	image push  -o bin/image REGISTRY/NAME:TAG
//	image serve -address 127.0.0.1:5000
//
// The image has one layer with the file plugin.wasm, as Istio and Envoy Gateway read it and as container engines mount
// it. It is listed for every platform that nodes run on, as the same module serves all. Nothing in it depends on when
// or where it was packed. push takes credentials from where docker login leaves them.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `usage: image sbom  -module FILE -package PACKAGE -compiler VERSION
       image pack  -module FILE -sbom FILE -o FOLDER
       image push  -o FOLDER REGISTRY/NAME:TAG
       image serve -address HOST:PORT
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	commands := map[string]func([]string, io.Writer) error{
		"sbom": runSBOM, "pack": runPack, "push": runPush, "serve": runServe}
	command, ok := commands[os.Args[1]]
	if !ok {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := command(os.Args[2:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func runSBOM(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("image sbom", flag.ExitOnError)
	module := flags.String("module", "bin/pintle.wasm", "the Wasm module")
	packagePath := flags.String("package", "./filter",
		"the package that it is compiled from, in the module of the current folder")
	compiler := flags.String("compiler", "", "the version of TinyGo")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := bill(".", *packagePath, *compiler, *module)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, string(text))
	return err
}

func runPack(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("image pack", flag.ExitOnError)
	module := flags.String("module", "bin/pintle.wasm", "the Wasm module")
	sbom := flags.String("sbom", "bin/pintle.wasm.spdx.json", "the module's bill of materials")
	folder := flags.String("o", "bin/image", "the OCI layout to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return pack(*module, *sbom, *folder, out)
}

func runPush(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("image push", flag.ExitOnError)
	folder := flags.String("o", "bin/image", "the OCI layout to push")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("push takes one image such as registry.example.com/pintle/plugin:v0.1.0, got %q",
			flags.Args())
	}
	return push(*folder, flags.Arg(0), out)
}

func runServe(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("image serve", flag.ExitOnError)
	address := flags.String("address", "127.0.0.1:0", "where to listen")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return serve(*address, out)
}
