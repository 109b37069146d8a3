package responses

import (
	"strings"
	"testing"
)

// TestItemsWithoutIDs: an item that has no id is listed with one that a page can begin after, also where its server or
// its client wrote that it has none.
func TestItemsWithoutIDs(t *testing.T) {
	for _, test := range []struct{ name, item, want string }{
		{"none", `{"type":"x"}`, `{"id":"item_r_0","type":"x"}`},
		{"null", `{"type":"x","id":null}`, `{"type":"x","id":"item_r_0"}`},
		{"empty", `{"id": "" ,"type":"x"}`, `{"id": "item_r_0" ,"type":"x"}`},
		{"one", `{"type":"x","id":"m"}`, `{"type":"x","id":"m"}`},
		{"of a part", `{"content":[{"id":null}]}`, `{"id":"item_r_0","content":[{"id":null}]}`},
		{"null, of a message", `{"id":null,"role":"user","content":"a"}`,
			`{"type":"message","id":"item_r_0","role":"user","content":[{"type":"input_text","text":"a"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := open(t, memoryOf(100, 1<<20))
			c.store("", "["+test.item+"]", answer("r", "b"))
			got := c.want(200, "GET", "responses/r/input_items")
			if want := `"data":[` + test.want + `],`; !strings.Contains(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
