package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// shippedToken is the ingest token of envoy.yaml.
const shippedToken = "pintle-local"

// shippedConfig is a shipped configuration of Envoy with its ports exchanged, a map from those in the file, and with
// another EndpointPickerConfig unless document is empty.
func shippedConfig(path string, ports map[int]int, document string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var config any
	if err := yaml.Unmarshal(text, &config); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if err := edit(config, ports, document); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	edited, err := yaml.Marshal(config)
	return string(edited), err
}

// edit goes through a configuration and changes ports and plug-ins' configurations in place.
func edit(node any, ports map[int]int, document string) error {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			if err := edit(item, ports, document); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, value := range node {
			edited, err := editMember(key, value, ports, document)
			if err != nil {
				return err
			}
			node[key] = edited
		}
	}
	return nil
}

// editMember returns what the value of a key becomes.
func editMember(key string, value any, ports map[int]int, document string) (any, error) {
	switch value := value.(type) {
	case float64:
		if port, ok := ports[int(value)]; ok && key == "port_value" {
			return port, nil
		}
		return value, nil
	case string:
		if key == "value" && strings.Contains(value, `"ingest"`) {
			return editPlugin(value, ports, document)
		}
		return value, nil
	}
	return value, edit(value, ports, document)
}

func editPlugin(text string, ports map[int]int, document string) (string, error) {
	var plugin map[string]any
	if err := json.Unmarshal([]byte(text), &plugin); err != nil {
		return "", fmt.Errorf("the plug-in's configuration: %w", err)
	}
	ingest, _ := plugin["ingest"].(map[string]any)
	port, _ := ingest["port"].(float64)
	if ports[int(port)] == 0 {
		return "", fmt.Errorf("the plug-in's ingest.port %v: want one of the listeners' ports", ingest["port"])
	}
	ingest["port"] = ports[int(port)]
	if document != "" {
		plugin["config"] = json.RawMessage(document)
	}
	edited, err := json.Marshal(plugin)
	return string(edited), err
}
