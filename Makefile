# Two commands are all it takes: `make demo` shows Pintle at work, `make test` checks it. Everything else is below.
# What is missing is installed by `make setup`; every target that needs it runs it.

# Where the demo and the local configuration listen. Change one with `make demo PORT_REQUESTS=8080`.
PORT_REQUESTS ?= 10000
PORT_INGEST   ?= 15099
PORT_ENVOY    ?= 9901
PORT_SIDECAR  ?= 10001
PORT_SIMS     ?= 9101

# How long each target of `make fuzz` searches, and which: `make fuzz FUZZTIME=10m TARGET='openai FuzzScan'`.
FUZZTIME ?= 1m
TARGET   ?= .

# How long `make soak` lasts.
SOAK ?= 10m

# What bin/pintle and the module say they are, and what make push names the image. It is the chart's.
VERSION ?= $(shell sed -n 's/^appVersion: //p' istio/chart/Chart.yaml)

SHELL := /bin/bash
GO    ?= go
STATICCHECK := bin/staticcheck

tinygo := build/.cache/tinygo.version
envoy  := build/.cache/envoy.version
older  := build/.cache/envoy-older.version
wrk    := build/.cache/bench.stamp
image  := build/.cache/image.stamp
istio  := build/.cache/istio.stamp
kube   := build/.cache/kube.stamp
chrome := build/.cache/browser.stamp
vllm   := build/.cache/vllm.stamp
sglang := build/.cache/sglang.stamp
prom   := build/.cache/prometheus.stamp
tiers  := build/.cache/responses.stamp

wasm_sources := $(shell find filter scoring state journal openai snapshot internal/hostcalls internal/address internal/selector internal/strictjson internal/pluginconfig -name '*.go' -not -name '*_test.go' -not -path '*/testdata/*') go.mod go.sum
hint_sources := filter/branches.txt $(wildcard internal/branchhints/*.go internal/branchhints/hint/*.go)
go_sources   := $(shell find cmd internal scoring state journal openai snapshot -name '*.go' -not -name '*_test.go' -not -path '*/testdata/*') go.mod go.sum $(wildcard internal/sidecar/admin/page/*)

# How TinyGo compiles; what it makes of the filter, and the step that tells V8 which of its branches are rare.
compile  = bin/tinygo build -target=pintle -buildmode=c-shared -opt=2 -no-debug
unhinted = $(@:.wasm=.unhinted.wasm)
hint     = $(GO) run ./internal/branchhints/hint -profile filter/branches.txt -o $@ $(unhinted) && rm $(unhinted)

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(tinygo) $(envoy) ## Install the pinned toolchain: TinyGo and Envoy, into bin/

# The files that tell which version is installed are what make goes by: bin/ may hold links, whose age says nothing.
$(tinygo): build/setup.sh build/go.mod build/packages.txt build/pintle.target.json $(wildcard build/tinygo/*.go)
	@build/setup.sh tinygo
	@touch $@

$(envoy): build/setup.sh build/requirements.txt
	@build/setup.sh envoy
	@touch $@

$(older): build/setup.sh build/envoy-older.txt
	@build/setup.sh envoy-older
	@touch $@

$(wrk): build/setup.sh
	@build/setup.sh bench
	@touch $@

$(image): build/setup.sh $(wildcard build/image/*)
	@build/setup.sh image
	@touch $@

$(istio): build/setup.sh $(wildcard build/istio/go.* build/kube/go.* build/manifests/go.* build/envoy-gateway/go.*)
	@build/setup.sh istio
	@touch $@

$(kube): build/setup.sh $(wildcard build/kube/go.*)
	@build/setup.sh kube
	@touch $@

$(chrome): build/setup.sh
	@build/setup.sh browser
	@touch $@

$(prom): build/setup.sh
	@build/setup.sh prometheus
	@touch $@

$(tiers): build/setup.sh $(wildcard build/mongo/*)
	@build/setup.sh responses
	@touch $@

$(vllm): build/setup.sh $(wildcard build/vllm/*)
	@build/setup.sh vllm
	@touch $@

$(sglang): build/setup.sh $(wildcard build/sglang/* build/sglang/sgl_kernel/*.py) build/vllm/stubs.py build/vllm/model.py
	@build/setup.sh sglang
	@touch $@

.PHONY: build
build: bin/pintle bin/pintle.wasm $(envoy) ## Build bin/pintle and bin/pintle.wasm

bin/pintle: $(go_sources) istio/chart/Chart.yaml
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X github.com/pintle-dev/pintle/internal/command.version=$(VERSION)' -o $@ ./cmd/pintle

# A sidecar that tells its events by a clock which is off, for tests.
bin/pintle-shifted: $(go_sources)
	CGO_ENABLED=0 $(GO) build -trimpath -tags shifted -ldflags '-s -w' -o $@ ./cmd/pintle

bin/pintle.wasm: $(wasm_sources) $(hint_sources) $(tinygo) istio/chart/Chart.yaml
	$(compile) -o $(unhinted) -tags custommalloc -ldflags '-X main.linkedVersion=$(VERSION)' ./filter
	@$(hint)

# The module that dies when it is told to, for tests of crashes.
bin/pintle-failpoint.wasm: $(wasm_sources) $(hint_sources) $(tinygo) istio/chart/Chart.yaml
	$(compile) -o $(unhinted) -tags 'custommalloc failpoint' -ldflags '-X main.linkedVersion=$(VERSION)' ./filter
	@$(hint)

# The module that collects garbage whenever it may, for tests of what is freed wrongly.
bin/pintle-collecting.wasm: $(wasm_sources) $(tinygo) istio/chart/Chart.yaml
	$(compile) -o $@ -tags 'custommalloc collectalways' -ldflags '-X main.linkedVersion=$(VERSION)' ./filter

.PHONY: modules
modules: # both at once, as TinyGo keeps one core busy
	@$(MAKE) --no-print-directory -j2 bin/pintle.wasm bin/pintle-failpoint.wasm

.PHONY: branches
branches: modules ## Learn anew which way requests go at the branches of the module, for filter/branches.txt (a minute)
	$(GO) test ./filter -run '^TestBranches$$' -update -count=1
	@$(MAKE) --no-print-directory modules

.PHONY: demo
demo: build ## Start everything on this machine, send 20 s of load, compare with random choice (KEEP=1 keeps it up)
	@$(GO) run ./bench/demo -requests-port $(PORT_REQUESTS) -ingest-port $(PORT_INGEST) -envoy-port $(PORT_ENVOY) \
	  -sidecar-port $(PORT_SIDECAR) -first-sim-port $(PORT_SIMS) $(if $(KEEP),-keep)

.PHONY: test
test: modules unit e2e ## Units, the compiled module in a test host, and real Envoy. The same every time

.PHONY: test-all
test-all: check test unit-32 unit-collecting race e2e-long e2e-older e2e-replicate e2e-responses attack-short e2e-picker e2e-kvcache e2e-kubernetes e2e-prometheus e2e-browser e2e-vllm e2e-sglang e2e-istio ## Everything, with make check and what takes long to build

.PHONY: unit
unit: build bin/pintle-failpoint.wasm ## Unit tests, and the filter's .wasm in a test host
	$(GO) test -vet=off $$($(GO) list ./... | grep -v /e2e)

.PHONY: unit-collecting
unit-collecting: bin/pintle-collecting.wasm ## Tests of the filter with a module that collects garbage whenever it may
	$(GO) test -count=1 -tags collecting -skip '^TestBranches$$' ./filter

.PHONY: unit-32
unit-32: ## Unit tests in 32 bits of what computes in the module
	GOARCH=386 CGO_ENABLED=0 $(GO) test -short ./scoring/... ./state ./snapshot/... ./journal ./openai

.PHONY: race
race: ## Race detector on what runs concurrently: packages that start goroutines or share what they hold
	$(GO) test -race -short $$(grep -rlE --include='*.go' '\bgo func|\.Go\(|"sync|AfterFunc' internal | xargs -n1 dirname | sort -u | sed 's#^#./#')
	$(GO) test -race -run Hammer ./journal

.PHONY: fuzz
fuzz: ## Search with each fuzz target for FUZZTIME, or with those that match TARGET
	@build/fuzz.sh $(FUZZTIME) '$(TARGET)'

.PHONY: e2e
e2e: build bin/pintle-failpoint.wasm ## Tests in real Envoy, with real clients
	$(GO) test -vet=off -short -count=1 -timeout 15m -parallel 8 ./e2e/...

.PHONY: e2e-long
e2e-long: build bin/pintle-failpoint.wasm ## The tests in real Envoy that take long: soaks, fifty configurations, hot restarts, 2,000 uploads, 20 killed sidecars, crashed VMs, impatient clients, exact prefix caches without what they lean on
	$(GO) test -count=1 -timeout 15m -run '^Test(Soak|CrashedVM|ImpatientClients|ManyConfigurations|HeldUploads|HotRestart|MetricsTellTheTruth|Conversations|Precise(Caches|Background))' ./e2e

.PHONY: e2e-older
e2e-older: build $(older) ## What matters most in the oldest Envoy that there is to be had ready, 1.36
	PINTLE_ENVOY=$(CURDIR)/build/.cache/envoy-older/envoy/_bin/envoy $(GO) test -short -count=1 -timeout 10m -parallel 8 \
	  -run '^Test(OlderEnvoy|Forged|Stream|Body|LongBody|FailOver|DeadEndpoint|FailingEndpoint|WhyARequestFailed|Ingest|Methods|KeepAlive|Trailers|Rewrite|Explain|CanonicalDisaggregation|Pairs|PrefixSticks|LeastLoaded|GRPC|Abandoned|RetriedResponse|TooLate|Reconfigured$$|ReportsAre|OpenAIClient)' ./e2e

.PHONY: e2e-replicate
e2e-replicate: build bin/pintle-shifted ## Four gateways that decide as one, and all that can fail between them, in some four minutes
	$(GO) test -count=1 -v -timeout 10m -run '^TestGateways' ./e2e

.PHONY: e2e-istio
e2e-istio: build bin/pintle-failpoint.wasm $(image) $(istio) ## Tests with a real istiod, Envoy Gateway and a real Kubernetes API (builds them, the first time twenty minutes)
	@began=$$SECONDS; $(GO) test -count=1 -timeout 15m -tags istio ./e2e/istio && \
	  echo "tests with Istio took $$((SECONDS - began)) s (some 270 s, and half an hour with the first builds)"

.PHONY: bars
bars: build ## What has to be done within a time: start-up, following load and caches, an hour's replay, predictions, KV events and what is killed around them, 200 servers for a minute. For an idle machine
	PINTLE_BARS=1 $(GO) test -count=1 -v -run 'TestStartUp$$|TestFollow$$|TestPreciseCaches$$' ./e2e
	PINTLE_BARS=1 $(GO) test -count=1 -v -run 'TestHour$$' ./internal/replay
	PINTLE_BARS=1 $(GO) test -count=1 -v -run 'TestCost' ./scoring ./internal/sidecar/tokens/bpe
	PINTLE_BARS=1 $(GO) test -count=1 -v -run 'TestKVBars$$' ./internal/sidecar/kvevents
	PINTLE_FLEET=1m $(GO) test -count=1 -v -run 'TestTwoHundredServers$$' ./internal/sidecar

.PHONY: e2e-kubernetes
e2e-kubernetes: $(kube) ## The sidecar's discovery with a real Kubernetes API (builds it, the first time some minutes)
	$(GO) test -count=1 -timeout 10m -tags kubernetes ./e2e/kubernetes

.PHONY: e2e-browser
e2e-browser: $(chrome) ## The sidecar's status page in headless Chromium (SCREENSHOT=FILE keeps a picture)
	$(GO) test -count=1 -tags browser ./e2e/browser

.PHONY: e2e-prometheus
e2e-prometheus: build $(prom) ## The alerts in a real Prometheus that scrapes a sidecar: each fires once and goes away
	$(GO) test -count=1 -timeout 10m -tags prometheus ./e2e/prometheus

.PHONY: e2e-responses
e2e-responses: bin/pintle $(tiers) ## Conversations in Valkey, Redis with TLS and a stand-in for MongoDB, with all of them and sidecars killed; 100,000 random ones; the index of KV events in Redis
	$(GO) test -count=1 -v -timeout 10m -tags responses ./e2e/responses
	PINTLE_CONVERSATIONS=100000 $(GO) test -count=1 -run 'TestConversationsAreWhatOthersBuild$$' ./internal/sidecar/responses
	$(GO) test -count=1 -v -tags responses -run 'TestSharedInRedis$$' ./internal/sidecar/kvindex

.PHONY: e2e-vllm
e2e-vllm: build $(vllm) ## Tests with two real vLLM servers on this machine's processors (installs vLLM, the first time some minutes)
	$(GO) test -count=1 -v -timeout 25m -tags vllm ./e2e/vllm

.PHONY: e2e-sglang
e2e-sglang: build $(sglang) ## Tests with a real SGLang server on this machine's processors (installs SGLang, the first time some minutes)
	$(GO) test -count=1 -v -timeout 20m -tags sglang ./e2e/sglang

.PHONY: e2e-picker
e2e-picker: build ## Compare decisions with an endpoint picker of llm-d, PICKER=PATH of its program; without one there is nothing to compare
	cd e2e/picker && $(GO) vet ./... && PINTLE_PICKER='$(PICKER)' $(GO) test -count=1 -v -timeout 20m .

.PHONY: e2e-kvcache
e2e-kvcache: ## Hold keys of blocks and scores against those of llm-d's own library (builds it, the first time some two minutes)
	cd e2e/kvcache && export CGO_ENABLED=0 && $(GO) vet ./... && $(GO) test -count=1 -timeout 5m ./...

.PHONY: check
check: $(STATICCHECK) ## gofmt, width of lines, vet, staticcheck, tidy, generated files
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt'ed:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	@$(GO) run ./internal/columns $$(git ls-files '*.go')
	$(GO) vet -tags istio,kubernetes,browser,vllm,sglang,prometheus,responses ./...
	cd build/image && $(GO) vet ./...
	$(STATICCHECK) -tags istio,kubernetes,browser,vllm,sglang,prometheus,responses,failpoint ./...
	$(GO) mod tidy -diff
	cd e2e/picker && $(GO) mod tidy -diff
	cd e2e/kvcache && $(GO) mod tidy -diff
	@$(GO) run ./docs/gen | diff -u docs/plugins.md - || { echo 'docs/plugins.md is out of date: run make docs'; exit 1; }

.PHONY: docs
docs: ## Generate docs/plugins.md from the plug-ins
	$(GO) run ./docs/gen > docs/plugins.md.new && mv docs/plugins.md.new docs/plugins.md

$(STATICCHECK): build/tools/go.mod build/tools/go.sum
	cd build/tools && $(GO) build -o ../../$@ honnef.co/go/tools/cmd/staticcheck

# What make push names the image, with VERSION.
REGISTRY ?= registry.example.com/pintle

.PHONY: image
image: bin/image/index.json ## Pack the module as an OCI image, in bin/image, and say its digest and size

bin/image/index.json: bin/pintle.wasm $(image)
	@rm -rf $(@D)
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) build/.cache/tools/pintle-image sbom -module $< \
	  -compiler "$$(cat build/.cache/tinygo.version)" > bin/pintle.wasm.spdx.json
	@build/.cache/tools/pintle-image pack -module $< -sbom bin/pintle.wasm.spdx.json -o $(@D)

.PHONY: push
push: image ## Push the image to REGISTRY/plugin:VERSION, with its bill of materials
	@build/.cache/tools/pintle-image push -o bin/image $(REGISTRY)/plugin:$(VERSION)

# ARGS are flags, such as make bench-overhead ARGS='-rounds 9 -sizes 2,16', ARGS=-stream, ARGS='-follow -sizes 2 -rounds 400
# -seconds 0.2 -last 5m', ARGS='-store -sizes 2 -rounds 250 -seconds 0.2' or ARGS='-precise -sizes 16 -rounds 1500'.
.PHONY: bench-overhead
bench-overhead: build $(wrk) ## What Pintle costs: requests/s beside the same Envoy without it
	@$(GO) run ./bench/overhead $(ARGS)

bin/decisions.wasm: $(wasm_sources) $(wildcard bench/decisions/cases/*.go bench/decisions/guest/*.go)
	$(compile) -o $@ ./bench/decisions/guest

.PHONY: bench-decisions
bench-decisions: $(tinygo) bin/decisions.wasm ## What the pieces of a decision cost, natively and in Wasm
	@$(GO) run ./bench/decisions $(ARGS) bin/decisions.wasm

bin/noop.wasm: $(wildcard bench/peers/noop/*.go) $(tinygo)
	$(compile) -o $@ ./bench/peers/noop

# ARGS are flags, such as make bench-peers ARGS='-peers pintle,llm-d,smg -sizes 2' or ARGS='-workload shared'.
.PHONY: bench-peers
bench-peers: build bin/noop.wasm $(wrk) ## Pintle beside llm-d, AIBrix, SGLang, vLLM, smg and LiteLLM, some twelve minutes
	@$(GO) run ./bench/peers $(ARGS)

# ARGS are flags, such as make bench-replicate ARGS='-gateways 2 -rate 200'.
.PHONY: bench-replicate
bench-replicate: build ## What it costs that gateways decide as one: delay and processor time, a minute
	@$(GO) run ./bench/replicate $(ARGS)

# ARGS are flags, such as make bench-scale ARGS='-part 1 -lags 100ms'.
.PHONY: bench-scale
bench-scale: ## What 8 gateways before 240 servers find cached, by how late they know of each other, in virtual time: a quarter of it in two minutes
	@$(GO) run ./bench/scale $(ARGS)

# ARGS may name another program that is to scrape the same pages: ARGS='-peer PROGRAM -- -ports {ports}'.
.PHONY: bench-sidecar
bench-sidecar: build ## What knowing the load of 100 servers costs: processor time, memory, delay
	@$(GO) run ./bench/sidecar $(ARGS)

# With ARGS, such as make bench-routing ARGS='-rates 3,20', the plot in docs/ stays as it is.
.PHONY: bench-routing
bench-routing: build ## What routing by prefixes gains over random choice and least-request, some four minutes
	@$(GO) run ./bench/routing $(if $(ARGS),$(ARGS),-plot docs/routing.svg)

# ARGS are flags, such as make attack ARGS='-only page,hang', ARGS=-short or ARGS=-demo beside a started make demo KEEP=1.
.PHONY: attack
attack: build ## Hostile clients and servers, one after the other: what others notice of them, some 15 minutes
	@$(GO) run ./bench/attack $(ARGS)

# Left to make attack: what a loss or two of a hundred decides, and what needs a machine of its own.
.PHONY: attack-short
attack-short: build ## Most of the same in some minutes, with bars that a busy machine keeps
	@$(GO) run ./bench/attack -short -only give-up,prefixes,one-body,users,tricks,headers,guess

# ARGS are flags, such as make bench-profiles ARGS='-servers 2 -load 0.8'.
.PHONY: bench-profiles
bench-profiles: ## What the shipped weights were chosen by: configurations in simulated time, some two minutes
	@$(GO) run ./bench/profiles $(ARGS)

# ARGS are flags, such as make bench-truth ARGS='-trace FILE -seconds 300 -speed 2'.
.PHONY: bench-truth
bench-truth: build ## A piece of a trace through real Envoy and through pintle replay: do they say the same? A minute
	@$(GO) run ./bench/truth $(ARGS)

# ARGS are flags, such as make mutate ARGS='-only "openai|journal/peers" -limit 5m'.
.PHONY: mutate
mutate: build bin/pintle-failpoint.wasm ## Change the code in one place at a time: do the tests notice? Some 40 minutes, an hour at most
	@$(GO) run ./bench/mutate $(ARGS)

# ARGS are flags, such as make parser ARGS='-bodies 100000 -seed 2'.
.PHONY: parser
parser: ## Compare how two million bodies are read with Python's json module
	@$(GO) run ./bench/parser $(ARGS)

.PHONY: soak
soak: build ## Mixed long prompts for SOAK: no memory may grow, no request be lost
	PINTLE_SOAK=$(SOAK) $(GO) test -count=1 -v -timeout 0 -run 'TestSoakPause$$' ./e2e

# With ARGS the plot in docs/ stays as it is.
.PHONY: bench-strategies
bench-strategies: build ## Fairness and prefix hit rate of each routing strategy, some four minutes
	@$(GO) run ./bench/strategies $(if $(ARGS),$(ARGS),-plot docs/strategies.svg)

.PHONY: clean
clean: ## Remove what was built, and the toolchain
	rm -rf bin build/.cache
