package journal

import (
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

func TestFollowedIsKept(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	if _, ok := ReadFollowed(store); ok {
		t.Error("somebody follows an empty store")
	}
	for i := range uint64(2) {
		want := Followed{Time: 1, Sample: 2, Kept: Position{Epoch: 3, Page: 4 + i, Seq: 5, Offset: 6}}
		want.Write(data.Store())
		if got, ok := ReadFollowed(store); !ok || got != want {
			t.Errorf("got %+v and %v, want %+v", got, ok, want)
		}
	}
	value, _, _ := store.Get(followedKey)
	store.Set(followedKey, value[:len(value)-1], 0)
	if got, ok := ReadFollowed(store); ok || got != (Followed{}) {
		t.Errorf("cut short: got %+v and %v, want none", got, ok)
	}
}
