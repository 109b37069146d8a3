package follow

import (
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/journal/journaltest"
)

// TestNamesOfFormerProcesses: they stay known, and make way when there are too many.
func TestNamesOfFormerProcesses(t *testing.T) {
	n := &Names{}
	model := func(process, i int) string { return fmt.Sprint("model ", process, " ", i) }
	told := func(process, i int) bool {
		name := model(process, i)
		return n.Of(journal.ModelName, journal.HashName(name)) == name
	}
	for process := range 2 * mostNames / journal.MaxNames {
		store := journaltest.New(0).Store()
		list := &journal.Names{Store: store}
		for i := range journal.MaxNames {
			list.Add(journal.ModelName, journal.HashName(model(process, i)), model(process, i))
		}
		names, _ := journal.StoredNames(store)
		n.learn(names, nil)
		if process == 1 && !told(0, 0) {
			t.Error("the former process's names are not known, want them to stay")
		}
		known := len(n.now().names)
		if known > mostNames || !told(process, 0) || !told(process, journal.MaxNames-1) {
			t.Fatalf("after process %d: %d names are known, want %d at most, and this process's among them", process,
				known, mostNames)
		}
	}
}
