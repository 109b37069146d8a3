package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// component is something that the module is made of.
type component struct{ Name, Version, URL string }

// document is an SPDX 2.3 document; only what is filled in here.
type document struct {
	SPDXVersion       string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	SPDXID            string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creationInfo   `json:"creationInfo"`
	Packages          []spdxPackage  `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creationInfo struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	SPDXID           string        `json:"SPDXID"`
	Name             string        `json:"name"`
	VersionInfo      string        `json:"versionInfo,omitempty"`
	DownloadLocation string        `json:"downloadLocation"`
	FilesAnalyzed    bool          `json:"filesAnalyzed"`
	Checksums        []checksum    `json:"checksums,omitempty"`
	ExternalRefs     []externalRef `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// components are the Go modules that the package is compiled from, and the compiler with its library.
func components(root, packagePath, compiler string) ([]component, error) {
	list := exec.Command("go", "list", "-deps", "-tags", "tinygo", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", packagePath)
	list.Dir = root
	list.Env = append(list.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := []component{{Name: "github.com/tinygo-org/tinygo", Version: compiler}}
	for line := range strings.Lines(string(out)) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all = append(all, component{Name: path, Version: version})
		}
	}
	for i := range all {
		all[i].URL = "pkg:golang/" + all[i].Name + "@" + all[i].Version
	}
	slices.SortFunc(all, func(a, b component) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(all), nil
}

// bill writes the bill of materials of a module. Its time is SOURCE_DATE_EPOCH, so that it can be made again.
func bill(root, packagePath, compiler, module string) ([]byte, error) {
	code, err := os.ReadFile(module)
	if err != nil {
		return nil, err
	}
	parts, err := components(root, packagePath, compiler)
	if err != nil {
		return nil, err
	}
	epoch, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), "0"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	sum := sha256.Sum256(code)
	digest := hex.EncodeToString(sum[:])
	const self = "SPDXRef-pintle"
	d := document{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", Name: moduleName,
		DocumentNamespace: "https://github.com/pintle-dev/pintle/spdx/" + digest,
		CreationInfo: creationInfo{Created: time.Unix(epoch, 0).UTC().Format(time.RFC3339),
			Creators: []string{"Tool: pintle-image"}},
		Packages: []spdxPackage{{
			SPDXID: self, Name: "github.com/pintle-dev/pintle",
			DownloadLocation: "https://github.com/pintle-dev/pintle",
			Checksums:        []checksum{{"SHA256", digest}},
		}},
		Relationships: []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", self}},
	}
	for i, part := range parts {
		id := fmt.Sprintf("SPDXRef-%d", i)
		d.Packages = append(d.Packages, spdxPackage{
			SPDXID: id, Name: part.Name, VersionInfo: part.Version, DownloadLocation: "NOASSERTION",
			ExternalRefs: []externalRef{{"PACKAGE-MANAGER", "purl", part.URL}},
		})
		d.Relationships = append(d.Relationships, relationship{self, "CONTAINS", id})
	}
	return json.MarshalIndent(d, "", "  ")
}
