package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens/jinja"
)

// readCall brings a call of a tool into the engine's order of keys, with its arguments as a dict.
func readCall(v any) (*jinja.Dict, error) {
	from, ok := v.(*jinja.Dict)
	if !ok {
		return nil, errors.New("is no call")
	}
	id, _ := from.Get("id")
	kind, _ := from.Get("type")
	f, _ := from.Get("function")
	function, ok := f.(*jinja.Dict)
	if _, isText := id.(string); !isText || kind != "function" || !ok {
		return nil, errors.New("is not a function's call with an id")
	}
	name, _ := function.Get("name")
	a, _ := function.Get("arguments")
	arguments, isText := a.(string)
	if _, ok := name.(string); !ok || !isText {
		return nil, errors.New("function: has no name or no arguments in a text")
	}
	dict, err := readArguments(arguments)
	if err != nil {
		return nil, err
	}
	called := jinja.NewDict("arguments", dict, "name", name)
	keep(called, function)
	to := jinja.NewDict("id", id, "function", called, "type", kind)
	keep(to, from)
	return to, nil
}

// keep adds the keys that are not there yet.
func keep(to, from *jinja.Dict) {
	from.Each(func(key, value any) {
		if _, ok := to.Get(key); !ok {
			to.Set(key, value)
		}
	})
}

// readArguments reads the arguments of a call. What is no object counts as an empty one, as in the engine.
func readArguments(text string) (*jinja.Dict, error) {
	for _, number := range []string{"NaN", "Infinity"} {
		if strings.Contains(text, number) {
			return nil, fmt.Errorf("arguments: %s is not known here", number)
		}
	}
	if strings.HasPrefix(text, "\ufeff") {
		return nil, errors.New("arguments: a byte order mark in front is not known here")
	}
	var syntax *json.SyntaxError
	v, err := decode([]byte(text))
	if err != nil && !errors.As(err, &syntax) && json.Valid([]byte(text)) {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	if dict, ok := v.(*jinja.Dict); ok && err == nil {
		return dict, nil
	}
	return &jinja.Dict{}, nil
}

// readTools brings tools into the engine's order of keys, without those that it does not hand on.
func readTools(raw json.RawMessage) (any, error) {
	if raw == nil {
		return nil, nil
	}
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New("tools: is no list of tools")
	}
	for i, item := range list {
		if list[i], err = readTool(item); err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
	}
	return list, nil
}

func readTool(v any) (*jinja.Dict, error) {
	from, ok := v.(*jinja.Dict)
	if !ok {
		return nil, errors.New("is no tool")
	}
	kind, given := from.Get("type")
	f, _ := from.Get("function")
	function, ok := f.(*jinja.Dict)
	if given && kind != "function" || !ok {
		return nil, errors.New("is no function")
	}
	for _, d := range []*jinja.Dict{from, function} {
		if v, _ := d.Get("defer_loading"); v != nil {
			return nil, errors.New("defer_loading: is not known here")
		}
	}
	name, _ := function.Get("name")
	description, _ := function.Get("description")
	parameters, _ := function.Get("parameters")
	strict, _ := function.Get("strict")
	_, isText := name.(string)
	_, isDict := parameters.(*jinja.Dict)
	_, isBool := strict.(bool)
	if _, ok := description.(string); !isText || description != nil && !ok || parameters != nil && !isDict ||
		strict != nil && !isBool {
		return nil, errors.New("function: is not as functions are")
	}
	read := jinja.NewDict("name", name, "description", description, "parameters", parameters)
	if strict != nil {
		read.Set("strict", strict)
	}
	return jinja.NewDict("type", "function", "function", read), nil
}
