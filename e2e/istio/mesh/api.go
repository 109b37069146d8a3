package mesh

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Apply writes objects as kubectl apply --server-side does, unknown fields refused.
func (k *Kube) Apply(objects ...Object) error { return k.apply("", objects) }

// Check has the API judge objects without keeping them.
func (k *Kube) Check(objects ...Object) error { return k.apply("&dryRun=All", objects) }

func (k *Kube) apply(options string, objects []Object) error {
	for _, o := range objects {
		if err := k.patch(o, "", "&fieldValidation=Strict"+options); err != nil {
			return err
		}
	}
	return nil
}

// patch applies an object, or a part of it, which its path ends in.
func (k *Kube) patch(o Object, part, options string) error {
	path, err := k.path(o)
	if err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	path += part + "?fieldManager=e2e&force=true" + options
	if _, err := k.request(http.MethodPatch, path, "application/apply-patch+yaml", text); err != nil {
		return fmt.Errorf("apply %s: %w", o, err)
	}
	return nil
}

// SetStatus writes the status of an object as a kubelet does.
func (k *Kube) SetStatus(o Object) error { return k.patch(o, "/status", "") }

// Delete removes an object.
func (k *Kube) Delete(o Object) error {
	path, err := k.path(o)
	if err != nil {
		return err
	}
	_, err = k.request(http.MethodDelete, path, "", nil)
	return err
}

// Get reads an object of the kind, name and namespace of another.
func (k *Kube) Get(o Object) (Object, error) {
	path, err := k.path(o)
	if err != nil {
		return nil, err
	}
	text, err := k.request(http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	var got Object
	return got, json.Unmarshal(text, &got)
}

// List reads the objects of the kind and namespace of another, which has no name.
func (k *Kube) List(o Object) ([]Object, error) {
	path, err := k.path(o)
	if err != nil {
		return nil, err
	}
	text, err := k.request(http.MethodGet, strings.TrimSuffix(path, "/"), "", nil)
	if err != nil {
		return nil, err
	}
	var list struct{ Items []Object }
	return list.Items, json.Unmarshal(text, &list)
}

// path is where the API has an object.
func (k *Kube) path(o Object) (string, error) {
	group := "/api/" + o.apiVersion()
	if strings.Contains(o.apiVersion(), "/") {
		group = "/apis/" + o.apiVersion()
	}
	r, err := k.resource(group, o)
	if err != nil {
		return "", err
	}
	if r.Namespaced {
		return group + "/namespaces/" + o.namespace() + "/" + r.Name + "/" + o.Name(), nil
	}
	return group + "/" + r.Name + "/" + o.Name(), nil
}

// discoveryLimit is how long the API may take to serve a kind once it is defined.
const discoveryLimit = 30 * time.Second

// resource looks up an object's kind, which may have been defined just now.
func (k *Kube) resource(group string, o Object) (resource, error) {
	kind := o.apiVersion() + "/" + o.Kind()
	for deadline := time.Now().Add(discoveryLimit); ; time.Sleep(50 * time.Millisecond) {
		if r, ok := k.resources[kind]; ok {
			return r, nil
		}
		err := k.discover(group, o.apiVersion())
		if _, ok := k.resources[kind]; !ok && time.Now().After(deadline) {
			return resource{}, errors.Join(fmt.Errorf("the API knows no %s", kind), err)
		}
	}
}

func (k *Kube) discover(group, apiVersion string) error {
	answer, err := k.request(http.MethodGet, group, "", nil)
	if err != nil {
		return err
	}
	var list struct {
		Resources []resource `json:"resources"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return err
	}
	for _, r := range list.Resources {
		if !strings.Contains(r.Name, "/") {
			k.resources[apiVersion+"/"+r.Kind] = r
		}
	}
	return nil
}

func (k *Kube) request(method, path, contentType string, body []byte) ([]byte, error) {
	request, err := http.NewRequest(method, k.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := k.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		var status struct{ Message string }
		if json.Unmarshal(answer, &status) != nil {
			status.Message = string(answer)
		}
		err = fmt.Errorf("%s: %s", response.Status, status.Message)
	}
	return answer, err
}
