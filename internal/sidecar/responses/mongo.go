package responses

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/pintle-dev/pintle/scoring"
)

// mongoTier is a collection of MongoDB with a document for each key: {_id, data, expires}, or {_id, deleted, expires}.
// An index has MongoDB drop what has expired; what it has not dropped yet does not count either.
type mongoTier struct {
	mongoConnection
	metrics *Metrics
	// Whether there is the index, whether it was said that there is none, and when to try again. Keep alone uses them.
	indexed, told bool
	nextIndex     time.Time
}

type mongoDocument struct {
	Data    []byte    `bson:"data,omitempty"`
	Deleted bool      `bson:"deleted,omitempty"`
	Expires time.Time `bson:"expires"`
}

// newMongo does not wait for a connection, nor for DNS to tell where a mongodb+srv:// leads.
func newMongo(c *scoring.StoreMongo, metrics *Metrics, log *slog.Logger) (*mongoTier, error) {
	m := &mongoTier{mongoConnection: mongoConnection{config: c, log: log}, metrics: metrics}
	return m, m.open()
}

func keyFilter(key string) bson.D { return bson.D{{Key: "_id", Value: key}} }

// Get implements secondTier.
func (m *mongoTier) Get(ctx context.Context, key string) ([]byte, error) {
	collection, err := m.collection()
	if err != nil {
		return nil, err
	}
	var d mongoDocument
	err = collection.FindOne(ctx, keyFilter(key)).Decode(&d)
	if errors.Is(err, mongo.ErrNoDocuments) || err == nil && (d.Deleted || !time.Now().Before(d.Expires)) {
		return nil, ErrUnknown
	}
	return d.Data, err
}

// mongoBatch is how many bytes one operation writes, or a single document: mongo.timeout is for each.
const mongoBatch = 1 << 20

// Keep implements secondTier. An entry never changes, so the first one that comes stays; a deletion takes its place for
// good.
func (m *mongoTier) Keep(ctx context.Context, all []record) (map[string]error, error) {
	collection, err := m.collection()
	if err != nil {
		return nil, err
	}
	m.index(ctx, collection)
	refused := map[string]error{}
	for len(all) > 0 {
		n, size := 1, len(all[0].value)
		for n < len(all) && size+len(all[n].value) <= mongoBatch {
			size += len(all[n].value)
			n++
		}
		if err := m.write(ctx, collection, all[:n], refused); err != nil {
			return nil, err
		}
		m.metrics.moved(secondName, "written", size)
		all = all[n:]
	}
	return refused, nil
}

func (m *mongoTier) write(ctx context.Context, collection *mongo.Collection, all []record,
	refused map[string]error) error {
	models := make([]mongo.WriteModel, len(all))
	for i, r := range all {
		if r.value == nil {
			models[i] = mongo.NewReplaceOneModel().SetFilter(keyFilter(r.key)).SetUpsert(true).
				SetReplacement(mongoDocument{Deleted: true, Expires: r.expires})
			continue
		}
		set := bson.D{{Key: "$setOnInsert", Value: mongoDocument{Data: r.value, Expires: r.expires}}}
		models[i] = mongo.NewUpdateOneModel().SetFilter(keyFilter(r.key)).SetUpsert(true).SetUpdate(set)
	}
	_, err := collection.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	var failed mongo.BulkWriteException
	if !errors.As(err, &failed) || failed.WriteConcernError != nil {
		return err
	}
	for _, e := range failed.WriteErrors {
		// Another consumer has inserted the same at the same moment: an entry that does not go in need not.
		if r := all[e.Index]; r.value == nil || !mongo.IsDuplicateKeyError(e) {
			refused[r.key] = errors.New(e.Message)
		}
	}
	return nil
}

// indexPause is how long to wait before asking for the index again.
const indexPause = time.Minute

// index asks for the index that drops what has expired, until there is one. All else works without.
func (m *mongoTier) index(ctx context.Context, collection *mongo.Collection) {
	if m.indexed || time.Now().Before(m.nextIndex) {
		return
	}
	m.nextIndex = time.Now().Add(indexPause)
	_, err := collection.Indexes().CreateOne(ctx, mongo.IndexModel{
		Keys: bson.D{{Key: "expires", Value: 1}}, Options: options.Index().SetExpireAfterSeconds(0),
	})
	m.indexed = err == nil
	if err != nil && !m.told && !mongo.IsNetworkError(err) && !mongo.IsTimeout(err) {
		m.told = true
		m.log.Warn("mongo drops nothing that has expired, as the index for it cannot be made", "error", err)
	}
}
