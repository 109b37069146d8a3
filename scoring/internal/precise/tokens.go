package precise

import (
	"time"

	"github.com/pintle-dev/pintle/internal/address"
	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// readPool reads the tokenizers of an index.
func readPool(b *scoring.Builder, o *strictjson.Object, x *scoring.PreciseIndex) {
	t := scoring.TokenBackend{At: b.Name, Workers: 5}
	o.String("modelName", &t.Model)
	o.Int("workersCount", &t.Workers, 1, 1024)
	local, uds, hf := o.Object("local"), o.Object("uds"), o.Secret("hf")
	readLocal(local, &t)
	ReadService(uds, &t)
	enabled := true
	hf.Bool("enabled", &enabled)
	hub := readHub(hf)
	o.Close()
	idle := func(maker, other string, there bool) {
		if there {
			b.Warn("indexerConfig.tokenizersPoolConfig." + other + " has no effect: " + maker + " makes the tokens")
		}
	}
	downloads := hf.Present() && enabled
	switch {
	case local.Present():
		t.Kind = scoring.TokensLocal
		t.Check(local.Mistake)
		idle("local", "uds", uds.Present())
		idle("local", "hf", downloads)
	case uds.Present():
		t.Kind = scoring.TokensOfService
		t.Check(uds.Mistake)
		idle("uds", "hf", downloads)
	case downloads:
		t.Kind, t.Name, t.Mode = scoring.TokensDownloaded, hub.Name, hub.Mode
		t.Dir, t.Token, t.Revision = hub.Dir, hub.Token, hub.Revision
		t.Check(hf.Mistake)
	}
	if o.Present() && t.Model == "" || t.Model == "" && b.Defaults().Dialect != scoring.DialectLLMD {
		o.Missing("modelName", "it is the name of the base model")
	}
	x.Tokens = t
}

func readLocal(o *strictjson.Object, t *scoring.TokenBackend) {
	t.Dir, t.File, t.Mode = "/mnt/models", "tokenizer.json", scoring.TokenizerModes[0]
	o.String("autoDiscoveryDir", &t.Dir)
	o.String("autoDiscoveryTokenizerFileName", &t.File)
	readFiles(o, t)
	readTokenizer(o, t)
	o.Close()
}

func readFiles(o *strictjson.Object, t *scoring.TokenBackend) {
	var files []strictjson.Pair
	o.StringMap("modelTokenizerMap", &files)
	for _, f := range files {
		t.Files = append(t.Files, scoring.PreciseFile{Model: f.Key, Path: f.Value})
	}
}

func readTokenizer(o *strictjson.Object, t *scoring.TokenBackend) {
	o.String("tokenizer", &t.Name)
	o.OneOf("tokenizerMode", &t.Mode, scoring.TokenizerModes...)
	o.String("tokenizerRevision", &t.Revision)
}

func readHub(o *strictjson.Object) (t scoring.TokenBackend) {
	t.Dir, t.Mode = "bin", scoring.TokenizerModes[0]
	o.String("huggingFaceToken", &t.Token)
	o.String("tokenizersCacheDir", &t.Dir)
	readTokenizer(o, &t)
	o.Close()
	return t
}

// ReadService reads where a tokenizer service listens.
func ReadService(o *strictjson.Object, t *scoring.TokenBackend) {
	t.Socket = "/tmp/tokenizer/tokenizer-uds.socket"
	o.String("socketFile", &t.Socket)
	o.Bool("useTCP", &t.TCP)
	readFiles(o, t)
	o.Close()
}

// ReadBackend reads the parameters of a plug-in that says who makes tokens, nil when they name nobody.
func ReadBackend(b *scoring.Builder) *scoring.TokenBackend {
	t := &scoring.TokenBackend{At: b.Name, Workers: 5, URL: "http://localhost:8000", Timeout: 5 * time.Second,
		MediaTimeout: 30 * time.Second}
	vllm, uds := b.Object.Object("vllm"), b.Object.Object("udsTokenizerConfig")
	b.String("modelName", &t.Model)
	if vllm.Has("http") && !vllm.Has("url") {
		vllm.String("http", &t.URL)
		b.Warn("vllm.http is deprecated; write it as vllm.url")
	}
	vllm.String("url", &t.URL)
	vllm.Duration("timeout", &t.Timeout, time.Millisecond)
	vllm.Duration("mmTimeout", &t.MediaTimeout, time.Millisecond)
	vllm.Close()
	ReadService(uds, t)
	if vllm.Present() && !address.HTTP(t.URL) {
		vllm.Mistake("url", address.Shown(t.URL)+" is no URL; one such as http://localhost:8000 is right")
	}
	if vllm.Present() && uds.Present() {
		b.Mistake("udsTokenizerConfig", "stands beside vllm; it is one or the other")
	}
	llmd := b.Defaults().Dialect == scoring.DialectLLMD
	switch {
	case uds.Present():
		t.Kind = scoring.TokensOfService
		t.Check(uds.Mistake)
	case vllm.Present() || llmd && t.Model != "":
		t.Kind = scoring.TokensRendered
	default:
		return nil
	}
	if t.Model == "" {
		b.Missing("modelName", "it is the name of the base model")
	}
	return t
}
