package responses

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/scoring"
)

// mongoConnection is how a collection is reached. MongoDB's driver asks DNS where a mongodb+srv:// leads before there
// is a client, and gives up when that fails; here DNS is asked until it tells.
type mongoConnection struct {
	config *scoring.StoreMongo
	log    *slog.Logger
	stop   context.CancelFunc // ends the tries

	mu     sync.Mutex
	client *mongo.Client // nil until DNS has told where to connect to
	away   error         // why it has not
	closed bool
}

// lookupWait is how long a start waits for DNS.
var lookupWait = time.Second

// The first pause between two questions to DNS, and the longest.
const (
	firstLookup = retryPause
	mostLookup  = 30 * time.Second
)

// errNoAnswer is why there is no client as long as DNS says nothing at all.
var errNoAnswer = &net.DNSError{Err: "no answer yet", Name: "of the server in mongo.uri", IsTimeout: true}

// isLookup reports whether DNS may say else another time.
func isLookup(err error) bool {
	_, is := errors.AsType[*net.DNSError](err)
	return is
}

// open makes a client, now or, where DNS fails or takes its time, later. An error is for good.
func (m *mongoConnection) open() error {
	ctx, stop := context.WithCancel(context.Background())
	m.stop, m.away = stop, errNoAnswer
	first, late := make(chan error), make(chan struct{})
	go m.try(ctx, first, late)
	var err error
	select {
	case err = <-first:
	case <-time.After(lookupWait):
		close(late)
		err = errNoAnswer
	}
	if isLookup(err) {
		m.log.Warn("DNS does not tell where mongo is; it is asked again, and redis keeps the responses until then",
			"error", err)
		return nil
	}
	if err != nil { // which may hold the password
		return errors.New("tieredConfig.mongo.uri: cannot be read by MongoDB's driver")
	}
	return nil
}

// try connects until that is done, or fails for good, or ctx ends. How the first try ended goes to first, unless nobody
// waits for that any more.
func (m *mongoConnection) try(ctx context.Context, first chan<- error, late <-chan struct{}) {
	err := m.connect()
	select {
	case first <- err:
		if err == nil {
			return
		}
	case <-late:
	}
	for failures := 1; isLookup(err) && ctx.Err() == nil; failures++ {
		pace.Sleep(ctx, pace.Backoff(firstLookup, failures, mostLookup))
		err = m.connect()
	}
	if err == nil && ctx.Err() == nil {
		m.log.Info("DNS tells where mongo is")
	}
}

// connect makes a client. Writes are acknowledged by a majority of servers unless the URI says else.
func (m *mongoConnection) connect() error {
	o := options.Client().SetWriteConcern(writeconcern.Majority()).ApplyURI(m.config.URI).SetTimeout(m.config.Timeout)
	if o.AppName == nil {
		o.SetAppName("pintle")
	}
	client, err := mongo.Connect(o)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && m.closed {
		return m.disconnect(client)
	}
	m.client, m.away = client, err
	return err
}

// collection is where the documents are, or why that is not known.
func (m *mongoConnection) collection() (*mongo.Collection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client == nil {
		if isLookup(m.away) {
			return nil, fmt.Errorf("DNS does not tell where it is: %w", m.away)
		}
		return nil, errors.New("its URI, with what DNS tells of it, cannot be read by MongoDB's driver")
	}
	return m.client.Database(m.config.Database).Collection(m.config.Collection), nil
}

// Close implements secondTier.
func (m *mongoConnection) Close() error {
	m.stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.client == nil {
		return nil
	}
	return m.disconnect(m.client)
}

func (m *mongoConnection) disconnect(client *mongo.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), m.config.Timeout)
	defer cancel()
	return client.Disconnect(ctx)
}
