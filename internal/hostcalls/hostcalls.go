// Package hostcalls is the filter's one seam to its host: the only importer of the proxy-wasm SDK.
//
// Calls that return data write it into a Buffer of the caller, so that bodies, snapshots and headers leave no garbage
// behind. What such a call returns is valid until the Buffer is used again.
package hostcalls

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
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
}

// Register names the constructor of plug-ins. To be called once, from init.
func Register(newPlugin func() Plugin) { proxywasm.SetVMContext(&vm{newPlugin: newPlugin}) }

type vm struct {
	types.DefaultVMContext
	newPlugin func() Plugin
}

func (v *vm) NewPluginContext(uint32) types.PluginContext { return &plugin{Plugin: v.newPlugin()} }

type plugin struct {
	types.DefaultPluginContext
	Plugin
}

func (p *plugin) OnPluginStart(int) types.OnPluginStartStatus {
	configuration, err := proxywasm.GetPluginConfiguration()
	if err != nil && err != types.ErrorStatusNotFound {
		proxywasm.LogCritical("pintle: cannot read the plug-in configuration: " + err.Error())
		return types.OnPluginStartStatusFailed
	}
	if err := p.Start(configuration); err != nil {
		return types.OnPluginStartStatusFailed
	}
	return types.OnPluginStartStatusOK
}

func (p *plugin) OnTick()                                    { p.Tick() }
func (p *plugin) NewHttpContext(id uint32) types.HttpContext { return p.NewStream(id) }

// SetTick asks for Plugin.Tick every periodMillis.
func SetTick(periodMillis uint32) error { return proxywasm.SetTickPeriodMilliSeconds(periodMillis) }

// Log levels.
func LogDebug(text string) { proxywasm.LogDebug(text) }

// LogInfo logs at info.
func LogInfo(text string) { proxywasm.LogInfo(text) }

// LogWarn logs at warning.
func LogWarn(text string) { proxywasm.LogWarn(text) }

// LogError logs at error.
func LogError(text string) { proxywasm.LogError(text) }

// SendResponse answers the client in place of the upstream. The phase that calls it must return Pause.
func SendResponse(status uint32, headers [][2]string, body []byte) error {
	return proxywasm.SendHttpResponse(status, headers, body, -1)
}
