#!/usr/bin/env bash
# Runs every fuzz target of the module for the time given, one after another.
# Go may end a target that found nothing with "context deadline exceeded" when a worker is still busy at the
# last moment (golang/go#75804). That alone is no finding; whatever else fails is printed whole.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fuzz() { # package, target, time
  echo "fuzz $1 $2"
  if go test "$1" -run '^$' -fuzz "^$2\$" -fuzztime "$3" -fuzzminimizetime 5s >"$log" 2>&1; then
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

for file in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz'); do
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
    fuzz "./$(dirname "$file")" "$target" "$1"
  done
done
