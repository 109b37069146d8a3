package sidecar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// step is one event.
func (w *world) step() {
	r := w.random
	switch r.IntN(15) {
	case 0, 1:
		w.edit(&w.static, "s")
		w.writeStatic(r.IntN(5) == 0)
		w.say("configuration, broken %v: %v", w.static.broken, w.static.want)
	case 2, 3:
		w.edit(&w.file, "f")
		w.writeFile(r.IntN(5) == 0)
		w.say("file, broken %v: %v", w.file.broken, w.file.want)
	case 4, 5:
		w.changePod()
	case 6:
		all := []int{r.IntN(len(w.servers)), r.IntN(len(w.servers))}
		slices.Sort(all)
		w.setNames(r.IntN(3) == 0, slices.Compact(all)[r.IntN(2):])
		w.say("DNS fails: %v, names %v", w.dns.Fails(), w.names)
	case 7, 8, 9, 10:
		w.changeServer(pick(r, w.servers...))
	case 11, 12:
		w.changeGateway(pick(r, w.gateways...))
	case 13:
		w.storm()
	default:
		w.restart()
	}
}

// edit changes what a source lists.
func (w *world) edit(s *source, prefix string) {
	r := w.random
	s.want = slices.Clone(s.want)
	for range 1 + r.IntN(3) {
		switch n := len(s.want); {
		case n > 0 && r.IntN(4) == 0:
			i := r.IntN(n)
			s.want = slices.Delete(s.want, i, i+1)
		case n > 0 && r.IntN(3) == 0:
			e := &s.want[r.IntN(n)]
			switch r.IntN(4) {
			case 0:
				e.server = r.IntN(len(w.servers))
			case 1:
				e.labels = map[string]string{"role": pick(r, "prefill", "decode")}
			case 2:
				e.models = pick(r, nil, []string{"one"}, []string{"one", "two"})
			default:
				e.engine = pick(r, "", "", "vllm", "sglang")
			}
		case n > 1 && r.IntN(4) == 0:
			r.Shuffle(n, func(i, j int) { s.want[i], s.want[j] = s.want[j], s.want[i] })
		case n < 5:
			name := fmt.Sprint(pick(r, prefix, prefix, prefix, "both"), r.IntN(8))
			if !slices.ContainsFunc(s.want, func(e listed) bool { return e.name == name }) {
				s.want = append(s.want, listed{name: name, server: r.IntN(len(w.servers))})
			}
		}
	}
}

func (w *world) changePod() {
	r := w.random
	name := fmt.Sprint("p", r.IntN(5))
	e := listed{name: "ns/" + name, server: r.IntN(len(w.servers)),
		labels: map[string]string{"app": "a", "x": strconv.Itoa(r.IntN(2))}}
	pod := w.pod(name, &e)
	switch r.IntN(4) {
	case 0:
		pod = nil
		delete(w.pods, e.name)
	case 1:
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		delete(w.pods, e.name)
	default:
		w.pods[e.name] = e
	}
	outage := r.IntN(8)
	w.api.setFails(outage == 0)
	w.api.put(name, pod)
	switch outage {
	case 0:
		time.Sleep(20 * time.Millisecond)
		w.api.setFails(false)
	case 1:
		w.api.forget()
	}
	w.say("pod %s at %d, there %v, outage %v, history lost %v", name, e.server, w.pods[e.name].name != "", outage == 0,
		outage == 1)
}

// pod makes a pod of an endpoint.
func (w *world) pod(name string, e *listed) *corev1.Pod {
	host, _, _ := strings.Cut(w.servers[e.server].address, ":")
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: e.labels},
		Status: corev1.PodStatus{PodIP: host,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
}

func (w *world) changeServer(s *worldServer) {
	r := w.random
	switch r.IntN(7) {
	case 0:
		s.stop()
	case 1:
		s.change(func() { s.mode = pick(r, hangs, garbage, fails, late, breaks) })
	case 2:
		s.restart(pick(r, s.kind, "vllm", "sglang", "trtllm", "triton"), pick[int64](r, 0, 2_000_000, 4_000_000_000))
	case 3:
		s.change(func() {
			s.models = pick(r, []string{"base"}, []string{"base", "more"}, []string{"other"}, []string{})
			s.lora = pick(r, nil, []string{"one"}, []string{"one", "two"})
		})
	case 4:
		s.change(func() { s.whole = !s.whole })
	default:
		s.change(func() { s.mode = well })
		s.start()
	}
	w.say("server %s: there %v, %s, engine %s, models %v, started %d", s.address, s.listens(), s.mode, s.kind, s.models,
		s.started)
}

func (w *world) changeGateway(g *worldGateway) {
	r := w.random
	switch r.IntN(6) {
	case 0:
		g.stop()
		g.begin()
		g.start()
		w.say("gateway %d restarts", g.number)
	case 1:
		g.stop()
		w.say("gateway %d ends", g.number)
	case 2:
		g.set(pick(r, hangs, fails, garbage, refuses, late))
		w.say("gateway %d is %s", g.number, g.mode)
	case 3:
		name := "unknown"
		if all, _, _ := w.truth(); len(all) > 0 {
			name = pick(r, all...).name
		}
		g.serve(r.IntN(300), name)
		w.say("gateway %d serves requests", g.number)
	default:
		g.set(well)
		g.start()
		w.say("gateway %d is well", g.number)
	}
}

// storm has all fail at once for a while, in which the sidecar may be started anew.
func (w *world) storm() {
	mode := pick(w.random, hangs, fails, garbage)
	w.say("all is %s", mode)
	for _, g := range w.gateways {
		g.set(mode)
	}
	for _, s := range w.servers {
		s.change(func() { s.mode = mode })
	}
	w.api.forget()
	w.setNames(true, w.names)
	time.Sleep(100 * time.Millisecond)
	if w.random.IntN(2) == 0 {
		w.restart()
	}
	w.setNames(false, w.names)
	for _, s := range w.servers {
		s.change(func() { s.mode = well })
	}
	for _, g := range w.gateways {
		g.set(well)
	}
}
