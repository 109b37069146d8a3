package mesh

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
)

// aloneVariable is set in a program that RunAlone has started.
const aloneVariable = "PINTLE_ALONE"

// Alone reports whether this program was started by RunAlone.
func Alone() bool { return os.Getenv(aloneVariable) != "" }

// RunAlone runs this program anew, with other arguments and with loopback and mounts of its own: for what listens at
// fixed ports of all interfaces, or has files at fixed places. It returns what that wrote. Only Linux has that.
func RunAlone(args ...string) (output string, err error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), aloneVariable+"=1")
	cmd.SysProcAttr = ownSystem()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// StartAlone starts a Kubernetes API in a program that RunAlone has started. All addresses of network are this
// machine's there.
func StartAlone(dir string, network netip.Prefix) (*Mesh, error) {
	m := &Mesh{dir: dir}
	if err := addLoopback(network); err != nil {
		return m, fmt.Errorf("loopback: %w", err)
	}
	var err error
	m.Kube, err = StartKube(dir)
	return m, err
}
