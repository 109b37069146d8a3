package pluginconfig

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/registry"
)

// readShadow reads the plan that decides without acting, from its object o, which the text spells out. Its mistakes are
// its own: a request must not suffer from them.
func (c *Config) readShadow(o *strictjson.Object, text string, settings scoring.Settings) {
	if !o.Present() {
		return
	}
	root, document := strictjson.Parse([]byte(text), "shadow")
	config := root.Object("config")
	if !config.Present() {
		root.Missing("config", "give the EndpointPickerConfig that is to be tried")
	}
	root.Close()
	plan := scoring.Compile(config, registry.Plugins, settings)
	mistakes, wrong := document.Err().(strictjson.Mistakes)
	if !wrong {
		keys := slices.Concat(c.BodyKeys, plan.BodyKeys())
		if len(keys) <= openai.MaxWanted {
			c.Shadow, c.BodyKeys = plan, keys
			return
		}
		mistakes = strictjson.Mistakes{"shadow: with config it reads " + strconv.Itoa(len(keys)) +
			" keys of the body; " + strconv.Itoa(openai.MaxWanted) + " or less are right"}
	}
	for i, m := range mistakes {
		if !strings.HasPrefix(m, "shadow:") {
			mistakes[i] = "shadow." + m
		}
	}
	c.ShadowError = mistakes
}

// ShadowWarnings says what has no effect in the shadow, none without one. The sidecar does nothing for it.
func (c *Config) ShadowWarnings() (warnings []string) {
	if c.Shadow == nil {
		return nil
	}
	for _, w := range c.Shadow.Warnings() {
		if of, _, reads := strings.Cut(w, scoring.SidecarReads); reads {
			w = of + "the sidecar goes by config alone"
		}
		warnings = append(warnings, "shadow: "+w)
	}
	if c.Shadow.Salts() {
		warnings = append(warnings, "shadow: tenant-cache-salt has no effect: requests leave as config says")
	}
	return warnings
}
