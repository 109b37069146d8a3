package precise

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// modes are how tokenizers may be loaded. The first two are the same file.
var modes = []string{"auto", "hf", "slow", "mistral", "deepseek_v32"}

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
	switch {
	case local.Present():
		t.Kind = scoring.TokensLocal
		checkMode(local, t.Mode)
		checkFiles(local, cmp.Or(t.Name, t.Model), t.Files)
	case uds.Present():
		t.Kind = scoring.TokensOfService
		checkService(uds, &t)
	case hf.Present() && enabled:
		t.Kind, t.Name, t.Mode = scoring.TokensDownloaded, hub.Name, hub.Mode
		t.Dir, t.Token, t.Revision = hub.Dir, hub.Token, hub.Revision
		checkMode(hf, t.Mode)
	}
	if o.Present() && t.Model == "" || t.Model == "" && b.Defaults().Dialect != scoring.DialectLLMD {
		o.Missing("modelName", "it is the name of the base model")
	}
	x.Tokens = t
}

func readLocal(o *strictjson.Object, t *scoring.TokenBackend) {
	t.Dir, t.File, t.Mode = "/mnt/models", "tokenizer.json", modes[0]
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
	o.OneOf("tokenizerMode", &t.Mode, modes...)
	o.String("tokenizerRevision", &t.Revision)
}

func readHub(o *strictjson.Object) (t scoring.TokenBackend) {
	t.Dir, t.Mode = "bin", modes[0]
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

// checkMode notes the modes that read other files than a tokenizer.json.
func checkMode(o *strictjson.Object, mode string) {
	if !slices.Contains(modes[:2], mode) {
		o.Mistake("tokenizerMode", strconv.Quote(mode)+" is known, but not here; auto is right where there is a "+
			"tokenizer.json")
	}
}

// checkFiles notes a map of models that does not have the one that is asked for.
func checkFiles(o *strictjson.Object, model string, files []scoring.PreciseFile) {
	has := func(f scoring.PreciseFile) bool { return f.Model == model }
	if len(files) > 0 && model != "" && !slices.ContainsFunc(files, has) {
		o.Mistake("modelTokenizerMap", "has no "+strconv.Quote(model))
	}
}

func checkService(o *strictjson.Object, t *scoring.TokenBackend) {
	checkFiles(o, t.Model, t.Files)
	if t.TCP && !isAddress(t.Socket) {
		o.Mistake("socketFile", strconv.Quote(t.Socket)+" is no address; with useTCP one such as localhost:50051 is "+
			"right")
	}
}

// isAddress reports whether a text is a host and a port, of which one with colons stands in brackets.
func isAddress(text string) bool {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return false
	}
	host := text[:colon]
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host, ok = strings.CutSuffix(inner, "]")
		return ok && !strings.ContainsAny(host, "[]")
	}
	return !strings.ContainsAny(host, ":[]")
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
	if vllm.Present() && !strings.HasPrefix(t.URL, "http://") && !strings.HasPrefix(t.URL, "https://") {
		vllm.Mistake("url", strconv.Quote(t.URL)+" is no URL; one such as http://localhost:8000 is right")
	}
	if vllm.Present() && uds.Present() {
		b.Mistake("udsTokenizerConfig", "stands beside vllm; it is one or the other")
	}
	llmd := b.Defaults().Dialect == scoring.DialectLLMD
	switch {
	case uds.Present():
		t.Kind = scoring.TokensOfService
		checkService(uds, t)
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
