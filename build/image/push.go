package main

import (
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push copies a layout that pack wrote to a registry.
func push(folder, image string, out io.Writer) error {
	reference, err := name.ParseReference(image, name.StrictValidation)
	if err != nil {
		return err
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return fmt.Errorf("%w; run make image", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	if len(manifest.Manifests) != atSBOM+1 {
		return fmt.Errorf("%s holds %d images, want a module and its bill of materials; run make image", folder,
			len(manifest.Manifests))
	}
	module, err := index.ImageIndex(manifest.Manifests[atModule].Digest)
	if err != nil {
		return err
	}
	bill, err := index.Image(manifest.Manifests[atSBOM].Digest)
	if err != nil {
		return err
	}
	login := remote.WithAuthFromKeychain(authn.DefaultKeychain)
	if err := remote.WriteIndex(reference, module, login); err != nil {
		return err
	}
	if err := remote.Write(reference.Context().Digest(manifest.Manifests[atSBOM].Digest.String()), bill,
		login); err != nil {
		return err
	}
	fmt.Fprintf(out, "oci://%s@%s\n", reference, manifest.Manifests[atModule].Digest)
	return nil
}

// serve is a registry in memory, for tests and for a look. It says where it listens.
func serve(address string, out io.Writer) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, l.Addr())
	return http.Serve(l, registry.New(registry.WithReferrersSupport(true)))
}
