package data

import "github.com/pintle-dev/pintle/scoring"

// fileDiscovery finds the servers in a file, for places without Kubernetes: a list endpoints with name, namespace,
// address, port and labels of each. The sidecar reads the file if it reads this document, too: pintle sidecar -plugins
// FILE; other discovery in its configuration then has no effect.
//
// Source: llm-d, file-discovery. There an entry that is wrong at the start ends the process, an address must be IPv4,
// and a port must be quoted. Here a wrong entry is a mistake at the start; later it is reported, and the last good file
// counts. IPv6 is right, and so is a port that is a number.
type fileDiscovery struct{ file scoring.EndpointsFile }

type fileDiscoveryParameters struct {
	// Path is the file, on the sidecar's machine. Required.
	Path string
	// WatchFile makes the sidecar read the file again when it changes.
	WatchFile bool
}

// NewFileDiscovery builds a file-discovery.
func NewFileDiscovery(b *scoring.Builder) scoring.Plugin {
	p := fileDiscoveryParameters{}
	b.String("path", &p.Path)
	b.Bool("watchFile", &p.WatchFile)
	if p.Path == "" {
		b.Missing("path", "name the file that lists the servers")
	}
	return fileDiscovery{scoring.EndpointsFile{Path: p.Path, Watch: p.WatchFile}}
}

// DiscoversEndpoints implements scoring.Discovery.
func (fileDiscovery) DiscoversEndpoints() {}

// AddTo implements scoring.DataPart.
func (f fileDiscovery) AddTo(d *scoring.DataLayer) { d.Endpoints = &f.file }
