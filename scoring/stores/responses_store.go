package stores

import (
	"github.com/pintle-dev/pintle/scoring"
)

// responsesStore keeps the conversations of POST /v1/responses, so that every server can continue each of them by
// previous_response_id. docs/responses.md says what it does and how to set it up: the sidecar holds the store.
//
// It takes part by being declared, if featureGates names prepareDataPlugins. Without the gate it is off, and a warning
// says so; llm-d's dialect has no such gate and needs none.
//
// Source: Heimdall, responses-store.
type responsesStore struct{ store scoring.ResponsesStore }

type responsesStoreParameters struct {
	// StoreConfig says where conversations are kept. inMemoryConfig: ttl (24h), maxEntries (10000), maxEntryBytes
	// (1048576), file (none). tieredConfig: redis with address or addresses, masterName, username, password, db (0),
	// ttl (24h), maxEntryBytes (1048576); mongo with uri, database (heimdall), collection (responses), ttl (720h),
	// timeout (500ms); stream with key (heimdall:responses:mongo_sync), consumerGroup (mongo-sync), maxLen (1000000),
	// batchSize (100), blockTimeout (1s), claimAge (30s). Of both tieredConfig counts, and stream only with mongo.
	// Without it they are in memory for a day.
	StoreConfig scoring.StoreBackend
	// TenantHeader is a request header that says whose a conversation is; to others it does not exist.
	TenantHeader string
	// KeepPreviousResponseID leaves previous_response_id in the body that the model server gets.
	KeepPreviousResponseID bool
}

// NewResponsesStore builds a responses-store.
func NewResponsesStore(b *scoring.Builder) scoring.Plugin {
	p := responsesStoreParameters{}
	p.StoreConfig = ReadBackend(b.Object, "storeConfig")
	tellIdle(b)
	b.HeaderName("tenantHeader", &p.TenantHeader)
	b.Bool("keepPreviousResponseId", &p.KeepPreviousResponseID)
	s := scoring.ResponsesStore{Backend: p.StoreConfig, KeepPreviousID: p.KeepPreviousResponseID}
	switch {
	case p.TenantHeader != "":
		s.HasTenant, s.TenantName, s.Tenant = true, p.TenantHeader, b.RequestHeader(p.TenantHeader)
	case b.Has("tenantHeader"):
		b.Missing("tenantHeader", "name the header that says whose a conversation is")
	}
	return &responsesStore{s}
}

// tellIdle tells the operator of what has no effect beside what else the store has, or without it.
func tellIdle(b *scoring.Builder) {
	store := b.Object.Member("storeConfig")
	tiers := store.Member("tieredConfig")
	if tiers.Present() && store.Has("inMemoryConfig") {
		b.Warn("storeConfig.inMemoryConfig has no effect: conversations are kept as tieredConfig says")
	}
	if tiers.Has("stream") && !tiers.Has("mongo") {
		b.Warn("storeConfig.tieredConfig.stream has no effect: nothing is brought to a MongoDB")
	}
}

// ResponsesStore implements scoring.ResponsesPart.
func (s *responsesStore) ResponsesStore() *scoring.ResponsesStore { return &s.store }
