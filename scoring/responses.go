package scoring

import "time"

// ResponsesStore says how conversations of the Responses API are kept.
type ResponsesStore struct {
	// Tenant is the header that says whose a conversation is, TenantName its name; HasTenant is false when all are
	// everybody's.
	Tenant     HeaderKey
	HasTenant  bool
	TenantName string
	// KeepPreviousID leaves previous_response_id in what the model servers get.
	KeepPreviousID bool
	// Backend is where they are kept.
	Backend StoreBackend
}

// StoreBackend is where conversations are kept: in Tiered, unless that is nil, else in Memory.
type StoreBackend struct {
	// Stated is false where the configuration says nothing of it.
	Stated bool
	Memory StoreMemory
	Tiered *StoreTiers
}

// MaxEntryBytes is the most that one entry may have.
func (b *StoreBackend) MaxEntryBytes() int {
	if b.Tiered != nil {
		return b.Tiered.Redis.MaxEntryBytes
	}
	return b.Memory.MaxEntryBytes
}

// StoreMemory is the sidecar's own memory. File, if not empty, is where it lasts.
type StoreMemory struct {
	TTL           time.Duration
	MaxEntries    int
	MaxEntryBytes int
	File          string
}

// StoreTiers are Redis or Valkey, and MongoDB behind it unless Mongo is nil.
type StoreTiers struct {
	Redis  StoreRedis
	Mongo  *StoreMongo
	Stream StoreStream
}

// StoreRedis is a Redis or Valkey: one at Address, or those of Addresses.
type StoreRedis struct {
	Address            string
	Addresses          []string
	MasterName         string
	Username, Password string
	DB                 int
	TTL                time.Duration
	MaxEntryBytes      int
}

// StoreMongo is a MongoDB.
type StoreMongo struct {
	URI, Database, Collection string
	TTL, Timeout              time.Duration
}

// StoreStream is the stream by which MongoDB gets what Redis has.
type StoreStream struct {
	Key, Group             string
	MaxLen                 int64
	BatchSize              int
	BlockTimeout, ClaimAge time.Duration
}

// ResponsesPart is a plug-in that keeps conversations. It takes part by being declared, where the document's feature
// gate allows it.
type ResponsesPart interface{ ResponsesStore() *ResponsesStore }

// ResponsesStore says how conversations are kept, nil for not at all.
func (p *Plan) ResponsesStore() *ResponsesStore { return p.responses }

// addResponses activates a plug-in that keeps conversations, if the gate is on. llm-d's dialect has no such gate.
func (c *compiler) addResponses(d *declared, part ResponsesPart) {
	switch {
	case !c.prepareData && c.defaults.Dialect != DialectLLMD:
		c.plan.warnings = append(c.plan.warnings, d.name+": is off, as "+gatePrepareData+
			" is not among the featureGates")
	case c.plan.responses != nil:
		c.plan.warnings = append(c.plan.warnings, d.name+": is off, as another "+d.kind+" is declared before it")
	default:
		c.plan.responses = part.ResponsesStore()
		c.plan.warnings = append(c.plan.warnings, d.name+": "+SidecarReads+
			"; or its own configuration has to say responses")
	}
}
