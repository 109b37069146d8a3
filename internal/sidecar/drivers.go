package sidecar

import (
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/pintle-dev/pintle/internal/address"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/redisclient"
	"github.com/pintle-dev/pintle/scoring"
)

// CheckDrivers reports what the drivers of Redis and MongoDB cannot read of a document's URLs, options above all. A
// document without mistakes can have such: the filter, which connects to nobody, has no drivers. Nobody is asked, so
// what a mongodb+srv:// leads to is not known.
func CheckDrivers(plan *scoring.Plan) error {
	var backend *scoring.StoreBackend
	if store := plan.ResponsesStore(); store != nil {
		backend = &store.Backend
	}
	return errors.Join(checkStore("responses-store: ", backend), checkKeys("", plan.PreciseIndex()))
}

// checkDrivers is CheckDrivers for all that the sidecar is told, by the files that tell it.
func checkDrivers(c *config.Config) error {
	var store, replicate error
	if c.Responses != nil {
		store = checkStore(c.Responses.At, &c.Responses.Backend)
	}
	if c.Replicate != nil {
		replicate = checkRedis(c.Path+": replicate.redis", c.Replicate.Redis.Address)
	}
	return errors.Join(store, checkKeys(c.Plugins+": ", c.Prefix.Index), replicate)
}

// checkStore has at stand before the keys.
func checkStore(at string, b *scoring.StoreBackend) error {
	if b == nil || b.Tiered == nil {
		return nil
	}
	tiers := at + "storeConfig.tieredConfig."
	err := checkRedis(tiers+"redis.address", b.Tiered.Redis.Address)
	m := b.Tiered.Mongo
	if m == nil || strings.HasPrefix(m.URI, "mongodb+srv:") || options.Client().ApplyURI(m.URI).Validate() == nil {
		return err
	}
	return errors.Join(err, errors.New(tiers+"mongo.uri: "+address.Shown(m.URI)+
		" has options that are wrong or do not go together"))
}

func checkKeys(at string, x *scoring.PreciseIndex) error {
	if x == nil {
		return nil
	}
	return checkRedis(at+x.At+": kvBlockIndexConfig", x.Keys.Remote)
}

func checkRedis(key, url string) error {
	if url == "" {
		return nil
	}
	if _, err := redisclient.Parse(url); err != nil {
		return errors.New(key + ": " + address.Shown(url) + " has an option that is wrong or not known")
	}
	return nil
}
