package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	gslices "slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unknown returns err, that a kind is not known, unless the API server has it in another version alone: its objects are
// there then, and are not to be taken for none.
func (c *clients) unknown(ctx context.Context, k kind, err error) error {
	var group metav1.APIGroup
	if !c.get(ctx, "/apis/"+k.Group, &group) {
		return err
	}
	for _, v := range group.Versions {
		var list metav1.APIResourceList
		if v.Version != k.Version && c.get(ctx, "/apis/"+v.GroupVersion, &list) &&
			gslices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == k.Resource }) {
			return fmt.Errorf("the API server has them in the version %s, and not in %s, which is read", v.Version,
				k.Version)
		}
	}
	return err
}

// get reads what the API server says of itself, and reports whether it does.
func (c *clients) get(ctx context.Context, path string, into any) bool {
	text, err := c.plain.Get().AbsPath(path).DoRaw(ctx)
	return err == nil && json.Unmarshal(text, into) == nil
}
