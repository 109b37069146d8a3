package follow

import "testing"

// TestInstancesAreBounded: there is always room for the one that was heard of last.
func TestInstancesAreBounded(t *testing.T) {
	known := Instances{}
	for instance := range uint64(3 * MostInstances) {
		known.Note(instance)
		known.Note(instance)
		if !known.Has(instance) || len(known) > MostInstances {
			t.Fatalf("instance %d: known %v, %d in all; want it known, at most %d", instance, known.Has(instance),
				len(known), MostInstances)
		}
	}
	if known.Has(0) {
		t.Error("the first instance is known, want it forgotten")
	}
}
