#!/usr/bin/env bash
# Installs a peer that is built from source into build/.cache/peers. Those from PyPI are installed by the program itself.
#
#   bench/peers/install.sh aibrix     AIBrix's gateway plug-in, from its Go module
#   bench/peers/install.sh llm-d      llm-d's router, from its repository, or from the tree that LLMD_SOURCE names
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
cache=$root/build/.cache/peers
mkdir -p "$cache"

aibrix=v0.7.0
llmd=ebab6879 # v0.10, 2026-08-22

install_aibrix() {
  local target=$cache/aibrix-gateway-$aibrix
  [ -x "$target" ] && return
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  go mod download "github.com/vllm-project/aibrix@$aibrix"
  cp -r "$(go env GOMODCACHE)/github.com/vllm-project/aibrix@$aibrix/." "$scratch"
  chmod -R u+w "$scratch"
  # The version of sonic that it asks for does not compile with Go 1.26.
  (cd "$scratch" && GOFLAGS=-mod=mod go get github.com/bytedance/sonic@v1.15.0 &&
    GOFLAGS=-mod=mod go build -trimpath -tags nozmq -o "$target" ./cmd/plugins)
}

install_llmd() {
  local target=$cache/llm-d-$llmd source=${LLMD_SOURCE:-}
  [ -x "$target" ] && return
  if [ -z "$source" ]; then
    source=$cache/llm-d-router
    [ -d "$source" ] || git clone --quiet https://github.com/llm-d/llm-d-router "$source"
    git -C "$source" checkout --quiet $llmd
  fi
  (cd "$source" && go build -trimpath -o "$target" ./cmd/epp)
}

case ${1:-} in
aibrix) install_aibrix ;;
llm-d) install_llmd ;;
*)
  echo "want aibrix or llm-d" >&2
  exit 2
  ;;
esac
