package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/pintle-dev/pintle/bench/decisions/cases"
)

// engine runs a case.
type engine interface {
	name() string
	prepare(ctx context.Context, index int) error
	// run does the case so many times and tells how long that took.
	run(ctx context.Context, times int) (time.Duration, error)
	close()
}

type native struct{ piece func() }

func (n *native) name() string { return "native" }
func (n *native) close()       {}

func (n *native) prepare(_ context.Context, index int) error {
	n.piece = cases.All[index].Prepare()
	return nil
}

func (n *native) run(_ context.Context, times int) (time.Duration, error) {
	started := time.Now()
	for range times {
		n.piece()
	}
	return time.Since(started), nil
}

// onWazero runs the module in this process.
type onWazero struct {
	runtime wazero.Runtime
	module  api.Module
}

func newWazero(ctx context.Context, module []byte) (*onWazero, error) {
	w := &onWazero{runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())}
	wasi_snapshot_preview1.MustInstantiate(ctx, w.runtime)
	var err error
	w.module, err = w.runtime.InstantiateWithConfig(ctx, module,
		wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	return w, err
}

func (w *onWazero) name() string { return "wazero" }
func (w *onWazero) close()       { _ = w.runtime.Close(context.Background()) }

func (w *onWazero) prepare(ctx context.Context, index int) error {
	_, err := w.module.ExportedFunction("prepare").Call(ctx, uint64(index))
	return err
}

func (w *onWazero) run(ctx context.Context, times int) (time.Duration, error) {
	started := time.Now()
	_, err := w.module.ExportedFunction("run").Call(ctx, uint64(times))
	return time.Since(started), err
}

// onV8 runs the module in a node process, which it tells what to do line by line.
type onV8 struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

//go:embed v8.mjs
var script string

func newV8(ctx context.Context, modulePath string) (*onV8, error) {
	v := &onV8{command: exec.CommandContext(ctx, "node", "--no-warnings", "--input-type=module", "-e", script, "--",
		modulePath)}
	var err error
	if v.input, err = v.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := v.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	v.output = bufio.NewReader(output)
	return v, v.command.Start()
}

func (v *onV8) name() string { return "V8" }

func (v *onV8) close() {
	_ = v.input.Close()
	_ = v.command.Wait()
}

func (v *onV8) say(verb string, number int) (time.Duration, error) {
	if _, err := fmt.Fprintln(v.input, verb, number); err != nil {
		return 0, err
	}
	line, err := v.output.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("node: %w", err)
	}
	var nanos int64
	_, err = fmt.Sscan(strings.TrimSpace(line), &nanos)
	return time.Duration(nanos), err
}

func (v *onV8) prepare(_ context.Context, index int) error {
	_, err := v.say("prepare", index)
	return err
}

func (v *onV8) run(_ context.Context, times int) (time.Duration, error) { return v.say("run", times) }
