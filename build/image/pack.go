package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// moduleName is the file that Istio and Envoy Gateway look for in the last layer.
const moduleName = "plugin.wasm"

// spdx is the media type of the bill of materials.
const spdx = "application/spdx+json"

// architectures are those of the nodes that may mount the image as a volume.
var architectures = []string{"amd64", "arm64"}

// The order of what a layout lists.
const (
	atModule = iota
	atSBOM
)

// pack writes the image and its bill of materials as an OCI layout.
func pack(module, sbom, folder string, out io.Writer) error {
	code, err := os.ReadFile(module)
	if err != nil {
		return err
	}
	bill, err := os.ReadFile(sbom)
	if err != nil {
		return err
	}
	index, layer, err := moduleIndex(code)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	size, err := layer.Size()
	if err != nil {
		return err
	}
	attached, err := attachment(bill, index)
	if err != nil {
		return err
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index); err != nil {
		return err
	}
	if err := path.AppendImage(attached); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s  %s: module %d bytes, compressed %d, bill of materials %d\n", folder, digest, len(code), size,
		len(bill))
	return nil
}

// moduleIndex is the image for all architectures, and the one layer that they share.
func moduleIndex(code []byte) (v1.ImageIndex, v1.Layer, error) {
	archive, err := moduleArchive(code)
	if err != nil {
		return nil, nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range architectures {
		image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layer)
		if err != nil {
			return nil, nil, err
		}
		config, err := image.ConfigFile()
		if err != nil {
			return nil, nil, err
		}
		config.OS, config.Architecture = "linux", architecture
		if image, err = mutate.ConfigFile(mutate.ConfigMediaType(image, types.OCIConfigJSON), config); err != nil {
			return nil, nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	return index, layer, nil
}

// moduleArchive is a tar file with the module alone, without a time or an owner.
func moduleArchive(code []byte) ([]byte, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: moduleName, Mode: 0o444, Size: int64(len(code)),
		Format: tar.FormatUSTAR}); err != nil {
		return nil, err
	}
	if _, err := w.Write(code); err != nil {
		return nil, err
	}
	err := w.Close()
	return archive.Bytes(), err
}

// attachment is the bill of materials as an artifact that refers to the image.
func attachment(bill []byte, subject v1.ImageIndex) (v1.Image, error) {
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		static.NewLayer(bill, spdx))
	if err != nil {
		return nil, err
	}
	digest, err := subject.Digest()
	if err != nil {
		return nil, err
	}
	size, err := subject.Size()
	if err != nil {
		return nil, err
	}
	// The type of such an artifact is that of its configuration.
	attached := mutate.Subject(mutate.ConfigMediaType(image, spdx),
		v1.Descriptor{MediaType: types.OCIImageIndex, Digest: digest, Size: size})
	return attached.(v1.Image), nil
}
