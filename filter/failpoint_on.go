//go:build failpoint

package main

import (
	"bytes"
	"strconv"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/scoring"
)

// crashModel is the model whose requests kill the VM, once their decision is journaled. It is only in the module that
// tests of crashes load.
const crashModel = "crash-the-vm"

func failpoint(model string) {
	if model == crashModel {
		panic("crashed as asked")
	}
}

// askMark in a body has the cluster that follows, up to a quotation mark, asked before the decision. An answer of 403
// refuses the request, one of 202 has the cluster asked once more; else x-pintle-explain has the status and the answer.
const (
	askMark          = "ask-the-cluster "
	askTimeoutMillis = 300
)

func (s *stream) consult(body []byte) (action hostcalls.Action, asked bool) {
	at := bytes.Index(body, []byte(askMark))
	if at < 0 || s.explain != "" {
		return hostcalls.Continue, false
	}
	cluster, _, _ := bytes.Cut(body[at+len(askMark):], []byte(`"`))
	return s.askCluster(string(cluster), body, "/first"), true
}

func (s *stream) askCluster(cluster string, body []byte, path string) hostcalls.Action {
	call := &hostcalls.Call{
		Cluster: cluster, Body: body, TimeoutMillis: askTimeoutMillis,
		Headers: [][2]string{{":method", "POST"}, {":path", path}, {":authority", "consult"}},
	}
	return s.ask(call, func(a hostcalls.Answer) hostcalls.Action {
		if a.Status == 202 {
			return s.askCluster(cluster, a.Body, "/again")
		}
		if a.Status == 403 {
			return s.refuse(&scoring.Failure{Status: 403, Reason: "consulted", Message: string(a.Body)})
		}
		s.explain = strconv.Itoa(a.Status) + " " + string(a.Body)
		return s.decide()
	})
}
