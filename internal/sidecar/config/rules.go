package config

import (
	"math"

	"github.com/pintle-dev/pintle/snapshot"
)

// readObjectives reads the classes of requests that clients may name, and their priorities.
func readObjectives(v value) ([]snapshot.Objective, error) {
	items, err := v.items()
	if err != nil {
		return nil, err
	}
	objectives := make([]snapshot.Objective, len(items))
	for i, item := range items {
		o := &objectives[i]
		err := item.fields(map[string]func(value) error{
			"name":     func(v value) (err error) { o.Name, err = v.nonEmpty("a unique name such as batch"); return err },
			"priority": func(v value) (err error) { o.Priority, err = v.integer(math.MinInt32, math.MaxInt32); return err },
		})
		if err != nil {
			return nil, err
		}
		if o.Name == "" {
			return nil, item.errorf("name is missing; a unique name such as batch is right")
		}
	}
	return objectives, nil
}

// mostWeight is the largest weight of a rewrite target, as in the Gateway API Inference Extension.
const mostWeight = 1_000_000

// readRewrites reads the rules that replace model names.
func readRewrites(v value) ([]snapshot.Rewrite, error) {
	items, err := v.items()
	if err != nil {
		return nil, err
	}
	rewrites := make([]snapshot.Rewrite, len(items))
	for i, item := range items {
		r := &rewrites[i]
		err := item.fields(map[string]func(value) error{
			"models":  func(v value) (err error) { r.Models, err = v.texts(); return err },
			"targets": func(v value) (err error) { r.Targets, err = readTargets(v); return err },
		})
		if err != nil {
			return nil, err
		}
		if len(r.Targets) == 0 {
			return nil, item.errorf("targets is missing; at least one model is right")
		}
	}
	return rewrites, nil
}

func readTargets(v value) ([]snapshot.RewriteTarget, error) {
	items, err := v.items()
	if err != nil {
		return nil, err
	}
	targets := make([]snapshot.RewriteTarget, len(items))
	for i, item := range items {
		weight := int32(1)
		err := item.fields(map[string]func(value) error{
			"model":  func(v value) (err error) { targets[i].Model, err = v.nonEmpty("the model to ask for"); return err },
			"weight": func(v value) (err error) { weight, err = v.integer(0, mostWeight); return err },
		})
		if err != nil {
			return nil, err
		}
		if targets[i].Model == "" {
			return nil, item.errorf("model is missing; the model to ask for is right")
		}
		targets[i].Weight = uint32(weight)
	}
	return targets, nil
}
