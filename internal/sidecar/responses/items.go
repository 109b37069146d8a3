package responses

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/openai"
)

// item is an item as it is listed: with an id.
type item struct{ id, raw string }

// listed are the items of a list with commas between them. Those without an id get one that stays the same.
func listed(items []byte, response string) []item {
	var all []item
	gjson.ParseBytes(slices.Concat([]byte("["), items, []byte("]"))).ForEach(func(_, value gjson.Result) bool {
		i := item{id: value.Get("id").String(), raw: value.Raw}
		if value.IsObject() {
			i.raw = withParts(value)
			if i.id == "" {
				i.id = "item_" + response + "_" + strconv.Itoa(len(all))
				i.raw = withID(i.raw, i.id)
			}
		}
		all = append(all, i)
		return true
	})
	return all
}

// withParts returns a message with its content as a list of parts, as OpenAI lists it.
func withParts(message gjson.Result) string {
	kind, content := message.Get("type"), message.Get("content")
	raw := message.Raw
	if kind.Exists() && kind.String() != "message" || !message.Get("role").Exists() {
		return raw
	}
	if content.Type == gjson.String && content.Index > 0 {
		part := `{"type":"input_text","text":` + content.Raw + `}`
		if message.Get("role").String() == "assistant" {
			part = `{"type":"output_text","text":` + content.Raw + `,"annotations":[]}`
		}
		at := content.Index - message.Index
		raw = raw[:at] + "[" + part + "]" + raw[at+len(content.Raw):]
	}
	if !kind.Exists() {
		raw = withMember(raw, `"type":"message"`)
	}
	return raw
}

// withID returns an object with an id in the place of none, of null or of an empty one.
func withID(object, id string) string {
	if old := gjson.Get(object, "id"); old.Index > 0 {
		return object[:old.Index] + `"` + id + `"` + object[old.Index+len(old.Raw):]
	}
	return withMember(object, `"id":"`+id+`"`)
}

// withMember returns an object that begins with a member more.
func withMember(object, member string) string {
	if gjson.Parse(object).Get("@keys.#").Int() == 0 {
		return "{" + member + "}"
	}
	return "{" + member + "," + object[1:]
}

// Bounds of a page of items, by OpenAI's reference.
const (
	pageDefault = 20
	pageMost    = 100
)

func (s *Service) inputItems(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit := pageDefault
	if text := query.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > pageMost {
			badQuery(w, "limit", "a whole number from 1 to 100")
			return
		}
	}
	order := query.Get("order")
	if order != "" && order != "asc" && order != "desc" {
		badQuery(w, "order", "asc or desc")
		return
	}
	e, err := s.find(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	items := listed(e.InputItems(), e.ID)
	if order != "asc" {
		slices.Reverse(items)
	}
	if after := query.Get("after"); after != "" {
		at := slices.IndexFunc(items, func(i item) bool { return i.id == after })
		if at < 0 {
			badQuery(w, "after", "the id of an item of the list")
			return
		}
		items = items[at+1:]
	}
	writeJSON(w, http.StatusOK, page(items, limit))
}

// page writes the first items of a list.
func page(items []item, limit int) []byte {
	more := len(items) > limit
	items = items[:min(limit, len(items))]
	body := []byte(`{"object":"list","data":[`)
	for i, item := range items {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, item.raw...)
	}
	body = append(body, `],"first_id":`...)
	if len(items) == 0 {
		body = append(body, `null,"last_id":null`...)
	} else {
		body = openai.AppendQuoted(body, items[0].id)
		body = openai.AppendQuoted(append(body, `,"last_id":`...), items[len(items)-1].id)
	}
	return append(strconv.AppendBool(append(body, `,"has_more":`...), more), '}')
}

func badQuery(w http.ResponseWriter, key, right string) {
	writeJSON(w, http.StatusBadRequest, []byte(`{"error":{"message":"`+key+` must be `+right+
		`","type":"invalid_request_error","param":"`+key+`","code":"invalid_value"}}`))
}
