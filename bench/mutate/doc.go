// Command mutate changes the code in one place at a time, runs the tests of the package and those that its list names,
// and tells which changes no test noticed. Nothing is written to the tree: go test -overlay sees the changed file in
// place of the real one. Changes to filter/ are made in a copy of the tree, as they have to be compiled into the
// module.
//
// The changes stand in the list_*.go files, each as the text before and after it; a text that is no longer in its file,
// or more than once, is a mistake to be mended there. A change that cannot be noticed, as the code means the same after
// it, is listed with the reason and not run. The command fails when less than 95 % of the others are noticed, and where
// tests fail without any change, as these would notice each one.
package main
