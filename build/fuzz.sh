#!/usr/bin/env bash
# Runs every fuzz target of the module for the time given, one after another.
set -euo pipefail
cd "$(dirname "$0")/.."
for file in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz'); do
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
    echo "fuzz ./$(dirname "$file") $target"
    go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 5s | tail -n 2
  done
done
