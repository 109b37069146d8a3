// Package router has how routers in Rust are started: SGLang's, vLLM's and smg, which have the same flags.
package router

import "fmt"

// SMG is what smg's own script does, for python3 -c.
const SMG = "import sys; from smg.cli import main; sys.argv[0] = 'smg'; sys.argv.insert(1, 'launch'); main()"

// Flags are those by which a router listens on the loopback and chooses among servers by a policy. Nothing may follow
// them: the servers are the last.
func Flags(port, metricsPort int, policy string, servers []string) []string {
	flags := []string{"--host", "127.0.0.1", "--port", fmt.Sprint(port), "--prometheus-host", "127.0.0.1",
		"--prometheus-port", fmt.Sprint(metricsPort), "--policy", policy, "--worker-startup-timeout-secs", "20",
		"--worker-startup-check-interval", "1", "--worker-urls"}
	for _, address := range servers {
		flags = append(flags, "http://"+address)
	}
	return flags
}
