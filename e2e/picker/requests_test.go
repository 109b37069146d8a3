package picker

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"strconv"
	"strings"
)

// request is what both are asked.
type request struct {
	path, body string
	headers    map[string]string
	// subset are the addresses that it may go to, if restricted is set.
	subset     []string
	restricted bool
}

// models are what requests ask for beside m, and adapters that servers have.
var models = []string{"sql", "chat", "code"}

// text is a random one: of one of some beginnings, of up to some thousand tokens.
func text(random *rand.Rand) string {
	prefix := random.IntN(prefixesOfPrompts)
	text := strings.Repeat(fmt.Sprintf("this is beginning number %d. ", prefix), 10*(1+prefix*prefix))
	text += fmt.Sprintf("and the end is %d", random.IntN(5))
	if random.IntN(8) == 0 {
		text = fmt.Sprintf("short %d", random.IntN(100))
	}
	return text
}

// plain makes a random request of text, of either API.
func plain(random *rand.Rand, _ []*server) request {
	text := text(random)
	if random.IntN(2) == 0 {
		return request{path: "/v1/completions", body: `{"model":"m","prompt":` + strconv.Quote(text) + `}`}
	}
	return request{path: "/v1/chat/completions",
		body: `{"model":"m","messages":[{"role":"user","content":` + strconv.Quote(text) + `}]}`}
}

// anyAPI makes a random request of any API, with tools, images and several prompts.
func anyAPI(random *rand.Rand, _ []*server) request {
	type object = map[string]any
	text, model := text(random), "m"
	if random.IntN(4) == 0 {
		model = "other"
	}
	body, path := object{"model": model}, "/v1/chat/completions"
	switch random.IntN(8) {
	case 0:
		path, body["prompt"] = "/v1/completions", []string{text, "and another one", text}
	case 1:
		path, body["prompt"] = "/v1/completions", ids(random)
	case 2:
		path, body["system"] = "/v1/messages", "You answer <briefly> & well."
		body["max_tokens"] = 100
		body["messages"] = []object{{"role": "user", "content": []object{{"type": "text", "text": text}}},
			{"role": "assistant", "content": "fine"}, {"role": "user", "content": "go on"}}
	case 3:
		path, body["input"] = "/v1/responses", text+" in \"two\"\n<lines> & so on"
		if random.IntN(2) == 0 {
			body["instructions"] = "You answer <briefly>."
		}
	case 4:
		path, body["input"] = "/v1/embeddings", text
	case 5:
		body["tools"] = []object{{"type": "function", "function": object{"name": "look_up", "parameters": object{
			"type": "object", "properties": object{"town": object{"type": "string", "limit": 3}}}}}}
		body["messages"] = []object{{"role": "system", "content": "be brief"}, {"role": "user", "content": text}}
	case 6:
		body["messages"] = []object{{"role": "user", "content": []object{{"type": "text", "text": text},
			picture(random), {"type": "text", "text": "what is it?"}}}}
	default:
		body["messages"] = []object{{"role": "user", "content": text}}
		body["cache_salt"] = strconv.Itoa(random.IntN(2))
	}
	marshalled, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return request{path: path, body: string(marshalled)}
}

// ids are a prompt that is tokens already.
func ids(random *rand.Rand) []int {
	list := make([]int, 100+random.IntN(2)*300)
	for i := range list {
		list[i] = i * 7
	}
	return list
}

// picture is an image in a chat: one elsewhere, or one of the request's own.
func picture(random *rand.Rand) map[string]any {
	url := fmt.Sprintf("https://example.com/%d.png", random.IntN(3))
	if random.IntN(2) == 0 {
		var encoded bytes.Buffer
		if err := png.Encode(&encoded, image.NewGray(image.Rect(0, 0, 64<<random.IntN(4), 256))); err != nil {
			panic(err)
		}
		url = "data:image/png;base64," + base64.StdEncoding.EncodeToString(encoded.Bytes())
	}
	return map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}}
}

// pictures makes a request with some of a few images.
func pictures(random *rand.Rand, _ []*server) request {
	content := []map[string]any{{"type": "text", "text": text(random)}}
	for range random.IntN(4) {
		content = append(content, picture(random))
	}
	body, err := json.Marshal(map[string]any{"model": "m",
		"messages": []any{map[string]any{"role": "user", "content": content}}})
	if err != nil {
		panic(err)
	}
	return request{path: "/v1/chat/completions", body: string(body)}
}

// adapted asks for an adapter.
func adapted(random *rand.Rand, servers []*server) request {
	r := plain(random, servers)
	r.body = strings.Replace(r.body, `"m"`, strconv.Quote(models[random.IntN(len(models))]), 1)
	return r
}

// with has requests carry a header that one of values names, of which the empty one is none.
func with(header string, values ...string) func(random *rand.Rand, servers []*server) request {
	return func(random *rand.Rand, servers []*server) request {
		r := plain(random, servers)
		if value := values[random.IntN(len(values))]; value != "" {
			r.headers = map[string]string{header: value}
		}
		return r
	}
}

// sessions are of a few clients; some have none.
func sessions(random *rand.Rand, servers []*server) request {
	r := plain(random, servers)
	if n := random.IntN(30); n < 25 {
		r.headers = map[string]string{"x-session-id": fmt.Sprintf("client %d", n)}
	}
	return r
}

// tokens carry what an answer of one of the servers brought, or something else.
func tokens(random *rand.Rand, servers []*server) request {
	r := plain(random, servers)
	name := "default/" + servers[random.IntN(len(servers))].name
	token := base64.StdEncoding.EncodeToString([]byte(name))
	switch random.IntN(6) {
	case 0:
		return r
	case 1:
		token = "default/nobody"
	}
	r.headers = map[string]string{"x-session-token": token}
	return r
}

// named asks for servers by their addresses, in one of the ways that conformance tests do.
func named(random *rand.Rand, servers []*server) request {
	r := plain(random, servers)
	list := addresses(random, servers)
	if len(list) > 0 {
		r.headers = map[string]string{"test-epp-endpoint-selection": strings.Join(list, ", ")}
	}
	return r
}

// restricted may go to some servers alone.
func restricted(random *rand.Rand, servers []*server) request {
	r := plain(random, servers)
	r.subset = addresses(random, servers)
	r.restricted = random.IntN(5) > 0
	return r
}

// addresses are some of the servers', with or without their ports, and now and then one of nobody.
func addresses(random *rand.Rand, servers []*server) (list []string) {
	for range random.IntN(4) {
		s := servers[random.IntN(len(servers))]
		switch random.IntN(5) {
		case 0, 1:
			list = append(list, s.address)
		case 2, 3:
			list = append(list, s.host)
		default:
			list = append(list, "10.255.255.1:80")
		}
	}
	return list
}
