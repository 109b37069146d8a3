// Package kubernetes tests the sidecar's discovery against a real kube-apiserver on a real etcd. Nothing runs pods
// there: the tests write what a kubelet and the controllers would. Run it with make e2e-kubernetes.
package kubernetes
