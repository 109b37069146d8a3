//go:build failpoint

package main

// crashModel is the model whose requests kill the VM, once their decision is journaled. It is only in the module that tests of crashes
// load.
const crashModel = "crash-the-vm"

func failpoint(model string) {
	if model == crashModel {
		panic("crashed as asked")
	}
}
