package kubernetes

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReady(t *testing.T) {
	now := metav1.NewTime(time.Now())
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: kind, Status: status}}
	}
	tests := []struct {
		name string
		pod  corev1.Pod
		want bool
	}{
		{"ready",
			corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.0.1",
				Conditions: condition(corev1.PodReady, corev1.ConditionTrue)}}, true},
		{"unready",
			corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.0.1",
				Conditions: condition(corev1.PodReady, corev1.ConditionFalse)}}, false},
		{"unknown",
			corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.0.1",
				Conditions: condition(corev1.PodReady, corev1.ConditionUnknown)}}, false},
		{"another condition",
			corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.0.1",
				Conditions: condition(corev1.ContainersReady, corev1.ConditionTrue)}}, false},
		{"no address",
			corev1.Pod{Status: corev1.PodStatus{Conditions: condition(corev1.PodReady, corev1.ConditionTrue)}}, false},
		{"being deleted", corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now},
			Status: corev1.PodStatus{PodIP: "10.0.0.1",
				Conditions: condition(corev1.PodReady, corev1.ConditionTrue)},
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := ready(&test.pod); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestActive(t *testing.T) {
	tests := []struct {
		name        string
		annotations map[string]string
		want        []bool
	}{
		{"none", nil, []bool{true, true, true}},
		{"two", map[string]string{activePorts: "8002, 8000"}, []bool{true, false, true}},
		{"foreign and broken", map[string]string{activePorts: "8001,x,9999,70000"}, []bool{false, true, false}},
		{"no port, and one in its last 16 bits", map[string]string{activePorts: "73537"}, []bool{false, false, false}},
		{"empty", map[string]string{activePorts: ""}, []bool{false, false, false}},
		{"llm-d's", map[string]string{llmdActivePorts: "8002"}, []bool{false, false, true}},
		{"llm-d's before the other", map[string]string{llmdActivePorts: "8001", activePorts: "8000,8001"},
			[]bool{false, true, false}},
		{"llm-d's, empty, before the other", map[string]string{llmdActivePorts: "", activePorts: "8000"},
			[]bool{false, false, false}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}}
			if got := active(pod, []uint16{8000, 8001, 8002}); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestSlicePorts(t *testing.T) {
	port := func(name string, number int32, protocol corev1.Protocol) discoveryv1.EndpointPort {
		return discoveryv1.EndpointPort{Name: &name, Port: &number, Protocol: &protocol}
	}
	numberless := "numberless"
	given := []discoveryv1.EndpointPort{port("http", 8000, "TCP"), port("dns", 53, "UDP"), port("alias", 8000, "TCP"),
		port("admin", 80, "TCP"), {}, {Name: &numberless}, port("last", 65535, "TCP"), port("beyond", 65536, "TCP"),
		port("first", 1, "TCP"), port("zero", 0, "TCP"), port("below", -1, "TCP")}
	tests := []struct {
		name  string
		ports []string
		want  []uint16
	}{
		{"all", nil, []uint16{1, 80, 8000, 65535}},
		{"by the names of what is no port, and of the last and the first", []string{"beyond", "zero", "below", "last",
			"first"}, []uint16{65535, 1}},
		{"by the numbers of what is no port, and of the last", []string{"65536", "0", "-1", "65535"}, []uint16{65535}},
		{"by name and number", []string{"http", "80"}, []uint16{8000, 80}},
		{"by a number that two names have", []string{"8000"}, []uint16{8000}},
		{"by a name without a number", []string{"numberless", "http"}, []uint16{8000}},
		{"unknown", []string{"grpc"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := (&Pool{Ports: test.ports}).slicePorts(given); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name    string
		pool    Pool
		mistake string
	}{
		{"InferencePool", Pool{InferencePool: "a"}, ""},
		{"Service", Pool{Service: "a", Ports: []string{"http"}}, ""},
		{"selector", Pool{Selector: "app in (a, b)", Ports: []string{"8000"}}, ""},
		{"nothing", Pool{}, "one of inferencePool, service and selector is right"},
		{"two", Pool{Service: "a", Selector: "a=b"}, "one of"},
		{"ports of an InferencePool", Pool{InferencePool: "a", Ports: []string{"8000"}}, "the InferencePool has them"},
		{"no port", Pool{Selector: "a=b"}, "ports: missing"},
		{"named port", Pool{Selector: "a=b", Ports: []string{"http"}}, `"http" is no port`},
		{"port 0", Pool{Selector: "a=b", Ports: []string{"0"}}, `"0" is no port`},
		{"nine ports", Pool{Selector: "a=b", Ports: strings.Split("1,2,3,4,5,6,7,8,9", ",")},
			"9 are too many; up to 8 are right"},
		{"a port twice", Pool{Selector: "a=b", Ports: []string{"8000", "8001", "8000"}}, "ports: 8000 is there twice"},
		{"a Service's port twice", Pool{Service: "a", Ports: []string{"http", "http"}}, "ports: http is there twice"},
		{"the lowest and the highest", Pool{Service: "a", Ports: []string{"1", "65535"}}, ""},
		{"a Service's zero", Pool{Service: "a", Ports: []string{"0"}}, "ports: 0 is no port"},
		{"just too high for a Service", Pool{Service: "a", Ports: []string{"65536"}}, "ports: 65536 is no port"},
		{"the highest of a selector", Pool{Selector: "a=b", Ports: []string{"65535"}}, ""},
		{"just too high for a selector", Pool{Selector: "a=b", Ports: []string{"65536"}}, `"65536" is no port`},
		{"eight ports", Pool{Selector: "a=b", Ports: strings.Split("1,2,3,4,5,6,7,8", ",")}, ""},
		{"a selector of blanks", Pool{Selector: " ", Ports: []string{"8000"}}, `selector: " " is none`},
		{"a Service's number", Pool{Service: "a", Ports: []string{"http", "70000"}}, "ports: 70000 is no port"},
		{"broken selector", Pool{Selector: "a in b", Ports: []string{"8000"}}, `selector: "a in b" is none`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.pool.Check()
			if (err == nil) != (test.mistake == "") || err != nil && !strings.Contains(err.Error(), test.mistake) {
				t.Errorf("got %v, want %q", err, test.mistake)
			}
		})
	}
}
