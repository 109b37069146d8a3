package scoring

import (
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// layers are the parts of a document around the scheduling of requests, read and not yet put to use.
type layers struct {
	sources   []*strictjson.Object
	discovery *strictjson.Object
	parsers   []*strictjson.Object
	// noMetrics is set where metrics are read of no server, unless a source says so.
	noMetrics bool
}

// readLayers reads dataLayer and requestHandler, which the older dialect does not have, and parser.
func (c *compiler) readLayers(doc *strictjson.Object) layers {
	l := layers{}
	if c.defaults.Dialect != DialectLLMD {
		c.addParser(doc, &l)
		return l
	}
	if data := doc.Object("dataLayer"); data.Present() {
		inject := true
		data.Bool("injectDefaults", &inject)
		l.noMetrics = !inject
		l.sources = data.Objects("sources")
		if discovery := data.Object("discovery"); discovery.Present() {
			l.readDiscovery(discovery)
		}
		c.readReplicas(doc, data)
		data.Close()
	}
	if handler := doc.Object("requestHandler"); handler.Present() {
		l.parsers = handler.Objects("parsers")
		propagate := false
		handler.Bool("propagatePriority", &propagate)
		if propagate {
			c.warn(doc, "requestHandler.propagatePriority has no effect: servers are told no priority")
		}
		handler.Close()
	}
	c.addParser(doc, &l)
	return l
}

// peersNotHere is what comes nearest to plug-ins by which replicas of a picker know of each other.
const peersNotHere = "is known, but not here yet: with replicate in their configuration sidecars share what they " +
	"know; leave it out"

// readDiscovery reads what names the plug-in that finds the servers: endpoints or, in documents of 0.10 and before,
// discovery itself.
func (l *layers) readDiscovery(o *strictjson.Object) {
	peers := o.Has("peers")
	if peers {
		o.Mistake("peers", peersNotHere)
		o.Object("peers")
	}
	l.discovery = o.Object("endpoints")
	former := ""
	switch {
	case l.discovery.Present():
		o.String("pluginRef", &former)
		o.Close()
	case peers && !o.Has("pluginRef"):
		l.discovery = nil
		o.Close()
	default:
		l.discovery = o
	}
}

// readReplicas reads what replicas of a picker tell each other: in v1 crossReplica, before it keys of dataLayer.
func (c *compiler) readReplicas(doc, data *strictjson.Object) {
	if data.Has("peerDiscovery") {
		data.Mistake("peerDiscovery", peersNotHere)
		data.Object("peerDiscovery")
	}
	c.readReplicaKeys(doc, data, "dataLayer.", "crossReplicaSyncerPluginRef", "crossReplicaSyncInterval",
		"crossReplicaPublishTimeout")
	if replicas := data.Object("crossReplica"); replicas.Present() {
		c.readReplicaKeys(doc, replicas, "dataLayer.crossReplica.", "syncerPluginRef", "syncInterval", "publishTimeout")
		replicas.Close()
	}
}

func (c *compiler) readReplicaKeys(doc, o *strictjson.Object, path, syncer string, durations ...string) {
	name, interval := "", time.Duration(0)
	if o.Has(syncer) {
		o.Mistake(syncer, peersNotHere)
	}
	o.String(syncer, &name)
	for _, key := range durations {
		o.Duration(key, &interval, 0)
		if o.Has(key) {
			c.warn(doc, path+key+" has no effect: the sidecars' replicate says what gateways share")
		}
	}
}

// addParser reads parser, the former form of requestHandler with one parser.
func (c *compiler) addParser(doc *strictjson.Object, l *layers) {
	parser := doc.Object("parser")
	switch {
	case !parser.Present():
	case len(l.parsers) == 0:
		l.parsers = []*strictjson.Object{parser}
	default:
		c.setAside(parser, "requestHandler.parsers counts")
	}
}

// setAside reads a reference to a plug-in that does not count, as the document has its present form, too.
func (c *compiler) setAside(former *strictjson.Object, instead string) {
	name := ""
	former.String("pluginRef", &name)
	former.Close()
	c.warn(former, "has no effect, as "+instead)
}
