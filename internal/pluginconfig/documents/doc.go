// Package documents draws random configurations of the filter, of every plug-in and every key, with values that are
// right, odd and wrong: for tests that compare those who read them. It knows the keys by the mistakes that the reader
// tells, so that no list of them can be out of date.
package documents
