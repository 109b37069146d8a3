#!/usr/bin/env bash
# Searches with the module's fuzz targets, one after another: build/fuzz.sh TIME [PATTERN]. PATTERN is a regular expression over
# "folder FuzzName", such as openai, FuzzParse or 'engine FuzzParse$'; without one all targets run.
# A target that fails does not keep the others from running. Go keeps the input that it found under testdata/fuzz, where plain
# go test runs it from then on.
# Go may end a target that found nothing with "context deadline exceeded" when a worker is still busy at the
# last moment (golang/go#75804). That alone is no finding; whatever else fails is printed whole.
set -euo pipefail
cd "$(dirname "$0")/.."
time=$1
pattern=${2:-.}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fuzz() { # package, target
  echo "fuzz $1 $2 for $time"
  if go test "$1" -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 5s >"$log" 2>&1; then
    tail -n 2 "$log"
    return
  fi
  if grep -q 'context deadline exceeded' "$log" && ! grep -qE 'Failing input|panic:|_test\.go:' "$log"; then
    echo "out of time with nothing found"
    return
  fi
  cat "$log"
  return 1
}

ran=0 failed=()
for file in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz'); do
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
    folder=$(dirname "$file")
    grep -qE "$pattern" <<<"$folder $target" || continue
    ran=$((ran + 1))
    fuzz "./$folder" "$target" || failed+=("$folder $target")
  done
done
[ "$ran" -gt 0 ] || { echo "fuzz: no target matches $pattern" >&2; exit 2; }
[ "${#failed[@]}" = 0 ] || { printf 'fuzz: failed: %s\n' "${failed[@]}" >&2; exit 1; }
