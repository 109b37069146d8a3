package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a child whose output is kept.
type process struct {
	name string
	cmd  *exec.Cmd
	log  *tail
	done chan struct{} // closed when it has ended
}

// startProcess starts a child that dies with this process.
func startProcess(name, dir, path string, args ...string) (*process, error) {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	return startCommand(name, cmd)
}

// startCommand starts a child that is ready but for where its output goes.
func startCommand(name string, cmd *exec.Cmd) (*process, error) {
	p := &process{name: name, cmd: cmd, log: &tail{}, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = dieWithParent()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.done)
	}()
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks the child to end and, after a while, makes it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		p.kill()
	}
}

// kill ends the child with SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// ResidentBytes is the memory of the child that is in RAM, 0 where the system does not tell.
func (p *process) ResidentBytes() int64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kilobytes, _ := strconv.ParseInt(fields[1], 10, 64) // a field of the kernel's is a number
			return kilobytes << 10
		}
	}
	return 0
}

// tailBytes is how much of a child's output is kept.
const tailBytes = 256 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu    sync.Mutex
	text  []byte
	taken int // how much of text take has returned
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
		t.taken = max(t.taken-over, 0)
	}
	return len(b), nil
}

// take returns what was written since the last call.
func (t *tail) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	news := string(t.text[t.taken:])
	t.taken = len(t.text)
	return news
}

// lines returns the last n lines.
func (t *tail) lines(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := bytes.Split(bytes.TrimRight(t.text, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(len(all)-n, 0):], []byte("\n")))
}
