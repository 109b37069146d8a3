// Package recording keeps journals in files: what pintle record writes and pintle replay reads. FORMAT.md gives the
// layout.
//
// A file is a row of frames, each whole in itself and with a checksum. Whatever happens to the writer, the frames that
// it has written can be read; a torn or damaged one is passed over and counted. Prompts are in it as hashes of their
// blocks, changed by a number that is not kept, users as hashes in the same way, clients' addresses not at all.
package recording
