// Package hostcalls is the filter's one seam to its host: proxy-wasm's ABI 0.2, as far as the filter needs it. It
// speaks it itself: an SDK exports callbacks that nobody wants, each of which the host then calls for every exchange,
// and looks contexts up in several maps for each of them.
//
// Calls that return data write it into a Buffer of the caller, so that bodies, snapshots and headers leave no garbage
// behind. What such a call returns is valid until the Buffer is used again.
package hostcalls

// Action tells the host to go on with a stream or to hold it.
type Action uint32

// The actions.
const (
	Continue Action = 0
	Pause    Action = 1
)

// Stream is one HTTP exchange. The host calls it back.
type Stream interface {
	OnHttpRequestHeaders(numHeaders int, endOfStream bool) Action
	OnHttpRequestBody(bodyBytes int, endOfStream bool) Action
	OnHttpRequestTrailers(numTrailers int) Action
	OnHttpResponseHeaders(numHeaders int, endOfStream bool) Action
	OnHttpResponseBody(frameBytes int, endOfStream bool) Action
	OnHttpResponseTrailers(numTrailers int) Action
	// OnHttpStreamDone is called last, however the exchange ended.
	OnHttpStreamDone()
}

// Plugin is one configured instance of the module.
type Plugin interface {
	// Start reads the configuration; an error refuses it.
	Start(configuration []byte) error
	// NewStream returns the context of a new HTTP exchange, whose number is id.
	NewStream(id uint32) Stream
	// Tick is called at the period that SetTick asked for.
	Tick()
	// Stop is called when the plug-in is no longer needed.
	Stop()
}

// Register names the constructor of plug-ins. To be called once, from init.
func Register(newPlugin func() Plugin) { theContexts.newPlugin = newPlugin }

// SetTick asks for Plugin.Tick every periodMillis.
func SetTick(periodMillis uint32) error { return failure(setTickPeriod(periodMillis)) }

// Levels of the host's log.
const (
	levelDebug = 1
	levelInfo  = 2
	levelWarn  = 3
	levelError = 4
)

// Log levels.
func LogDebug(text string) { log(levelDebug, text) }

// LogInfo logs at info.
func LogInfo(text string) { log(levelInfo, text) }

// LogWarn logs at warning.
func LogWarn(text string) { log(levelWarn, text) }

// LogError logs at error.
func LogError(text string) { log(levelError, text) }

// SendResponse answers the client in place of the upstream. The phase that calls it must return Pause.
func SendResponse(status uint32, headers [][2]string, body []byte) error {
	return failure(sendResponse(status, appendFields(nil, headers), body))
}
