// Package hostcalls is the filter's one seam to its host: proxy-wasm's ABI 0.2.1, as far as the filter needs it.
//
// Calls that return data write it into a Buffer of the caller, so that bodies, snapshots and headers leave no garbage
// behind. What such a call returns is valid until the Buffer is used again.
package hostcalls

import (
	"math"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// The host calls these back; see proxy-wasm's ABI 0.2.1.
type (
	// Stream is one HTTP exchange.
	Stream = types.HttpContext
	// DefaultStream lets everything through; embed it.
	DefaultStream = types.DefaultHttpContext
	// Action tells the host to go on with a stream or to hold it.
	Action = types.Action
)

// The actions.
const (
	Continue = types.ActionContinue
	Pause    = types.ActionPause
)

// Plugin is one configured instance of the module.
type Plugin interface {
	// Start reads the configuration; an error refuses it.
	Start(configuration []byte) error
	// NewStream returns the context of a new HTTP exchange, whose number is id.
	NewStream(id uint32) Stream
	// Tick is called at the period that SetTick asked for.
	Tick()
	// Stop is called last, when all streams have ended.
	Stop()
}

// Register names the constructor of plug-ins. To be called once, from init.
func Register(newPlugin func() Plugin) { vm.newPlugin = newPlugin }

// configure starts the plug-in with its configuration.
func (p *pluginContext) configure() (ok bool) {
	configuration, err := buffer(pluginConfiguration, 0, math.MaxInt32)
	if err != nil && err != notFound {
		logText(logCritical, "pintle: cannot read the plug-in configuration: "+err.Error())
		return false
	}
	return p.Start(configuration) == nil
}

// SetTick asks for Plugin.Tick every periodMillis.
func SetTick(periodMillis uint32) error { return proxySetTickPeriod(periodMillis).err() }

// Log levels of the host.
const (
	logInfo     = 2
	logWarn     = 3
	logError    = 4
	logCritical = 5
)

func logText(level uint32, text string) {
	at, size := textAt(text)
	_ = proxyLog(level, at, size)
}

// LogInfo logs at info.
func LogInfo(text string) { logText(logInfo, text) }

// LogWarn logs at warning.
func LogWarn(text string) { logText(logWarn, text) }

// LogError logs at error.
func LogError(text string) { logText(logError, text) }

// SendResponse answers the client in place of the upstream. The phase that calls it must return Pause.
func SendResponse(code uint32, headers [][2]string, body []byte) error {
	const notGRPC = -1
	pairs, pairsSize := bytesAt(encodePairs(headers))
	at, size := bytesAt(body)
	return proxySendLocalResponse(code, nil, 0, at, size, pairs, pairsSize, notGRPC).err()
}
