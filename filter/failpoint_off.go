//go:build !failpoint

package main

func failpoint(string) {}
