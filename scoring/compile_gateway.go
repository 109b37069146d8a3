package scoring

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// modelDefault is the model that an AIGateway binds for all that it does not name.
const modelDefault = "default"

// binding is one entry of an AIGateway's schedulingProfiles.
type binding struct {
	*strictjson.Object
	model, profile string
}

func bindings(gateway *strictjson.Object) []binding {
	var list []binding
	for _, o := range gateway.Object("spec").Objects("schedulingProfiles") {
		b := binding{Object: o}
		o.LabelBy("model")
		o.String("model", &b.model)
		o.String("profile", &b.profile)
		o.Close()
		if b.model == "" {
			o.Missing("model", "name a model, or "+modelDefault)
		}
		if b.profile == "" {
			o.Missing("profile", "name a "+kindProfile)
		}
		list = append(list, b)
	}
	return list
}

func joinNames(list []binding) string {
	var names []string
	for _, b := range list {
		if !slices.Contains(names, b.profile) {
			names = append(names, b.profile)
		}
	}
	return strings.Join(names, ", ")
}

// bind fills the plan with the SchedulingProfiles that an AIGateway names. How the gateway itself is deployed is
// nothing to a filter.
func (c *compiler) bind(gateway *strictjson.Object, profiles []resource) {
	names := make([]string, len(profiles))
	for i := range profiles {
		names[i] = profiles[i].name
	}
	var bound []*resource
	fallback := ""
	var models, seen []string
	list := bindings(gateway)
	for _, b := range list {
		if b.model != "" && slices.Contains(seen, b.model) {
			b.Mistake("model", strconv.Quote(b.model)+" is bound twice")
			continue
		}
		seen = append(seen, b.model)
		i := slices.Index(names, b.profile)
		if i < 0 && b.profile != "" {
			b.Mistake("profile", "no "+kindProfile+" is named "+strconv.Quote(b.profile)+
				strictjson.Hint(b.profile, names, "here are"))
		}
		if i < 0 {
			continue
		}
		if !slices.Contains(bound, &profiles[i]) {
			bound = append(bound, &profiles[i])
		}
		if b.model == modelDefault {
			fallback = b.profile
		} else {
			models = append(models, strconv.Quote(b.model)+":"+strconv.Quote(b.profile))
		}
	}
	for i := range profiles {
		if !slices.Contains(bound, &profiles[i]) {
			c.warn(gateway, "the "+kindProfile+" "+strconv.Quote(names[i])+" has no effect: no model is bound to it")
		}
	}
	if len(bound) == 0 {
		if len(list) == 0 {
			gateway.Object("spec").Missing("schedulingProfiles", "bind a model, or "+modelDefault+", to a "+kindProfile)
		}
		return
	}
	if fallback == "" {
		c.warn(gateway, "no profile is bound to the model "+modelDefault+": models that are not named go by "+
			strconv.Quote(bound[0].name)+
			"; in Heimdall, by a profile that is built in")
	}
	c.addBound(gateway, bound, fallback, models)
}

func (c *compiler) addBound(gateway *strictjson.Object, bound []*resource, fallback string, models []string) {
	if len(bound) == 1 {
		c.addResource(bound[0], "")
		return
	}
	paired := false
	for _, r := range bound {
		if r.handler == handlerPD {
			paired = true
			r.spec.Mistake("profileHandler", handlerPD+" is not possible where models have different profiles; give "+
				strconv.Quote(r.name)+" a route and a configuration of its own")
			continue
		}
		c.addResource(r, r.name+"/")
	}
	if paired {
		return
	}
	text := `{"models":{` + strings.Join(models, ",") + `},"default":` + strconv.Quote(fallback) + `}`
	c.build(gateway, strictjson.FromText(gateway, text), "model-profile-handler", "model-profile-handler")
}
