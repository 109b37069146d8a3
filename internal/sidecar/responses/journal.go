package responses

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
)

// journalFile is where the entries in memory last: records one after another, each with its length and a checksum. A
// record is in the file before it is acknowledged; what a crash of the machine loses is what the system had not written
// yet.
type journalFile struct {
	path string
	file *os.File
	// written is how long the file is, kept how long it was when it held nothing but what is kept.
	written, kept int64
	scratch       []byte
	// stuck is why it could not be written anew the last time, empty when it could.
	stuck string
	log   *slog.Logger
}

// What a record does.
const (
	recordPut    = 'P' // an entry with all that came before
	recordLinked = 'L' // an entry without: its predecessor is in a record before
	recordRemove = 'R' // a key that is forgotten
)

const (
	recordHead = 8 // length and checksum
	mostRecord = 1 << 28
)

// errOtherFile is a file that does not begin as one of stored responses does.
var errOtherFile = errors.New("holds something else than stored responses; name a file of their own")

// openJournal reads the file into m and writes it anew, without what is gone. A tail that a crash has torn is left out.
// What something else has written, or another release, is left as it is.
func openJournal(path string, m *memory, log *slog.Logger) (*journalFile, error) {
	j := &journalFile{path: path, log: log}
	file, err := os.Open(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		m.loading = true
		torn := j.load(bufio.NewReaderSize(file, 1<<20), m)
		m.loading = false
		_ = file.Close()
		if version := (*otherVersion)(nil); errors.As(torn, &version) {
			return nil, fmt.Errorf("%s: %w: go back to the release that wrote it, or name another file", path, version)
		}
		if errors.Is(torn, errOtherFile) {
			return nil, fmt.Errorf("%s %w", path, torn)
		}
		if torn != nil {
			log.Warn("the end of the file of stored responses cannot be read and is left out", "file", path,
				"error", torn)
		}
	}
	m.sweep()
	m.evict()
	if err := j.rewrite(m); err != nil {
		return nil, err
	}
	return j, nil
}

// load reads records up to the end or to the first that is torn, and says why.
func (j *journalFile) load(r io.Reader, m *memory) error {
	var head [recordHead]byte
	for first := true; ; first = false {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		size := binary.LittleEndian.Uint32(head[:])
		if size > mostRecord && first {
			return errOtherFile
		}
		if size == 0 || size > mostRecord {
			return errEncoding
		}
		record := make([]byte, size)
		n, err := io.ReadFull(r, record)
		if first && n > 0 && record[0] != recordPut {
			return errOtherFile // what comes first has no predecessor, and there is nothing to forget
		}
		if err != nil {
			return err
		}
		if crc32.ChecksumIEEE(record) != binary.LittleEndian.Uint32(head[4:]) {
			return errEncoding
		}
		if err := apply(record, m); err != nil {
			return err
		}
	}
}

func apply(record []byte, m *memory) error {
	if record[0] == recordRemove {
		if n := m.nodes[string(record[1:])]; n != nil {
			m.forget(n, "")
		}
		return nil
	}
	e, err := decode(record[1:])
	if err != nil {
		return err
	}
	if record[0] == recordLinked && m.nodes[keyOf(e.Tenant, e.Previous)] == nil {
		return nil // without its predecessor it would be another conversation
	}
	m.insert(e)
	return nil
}

// put writes an entry; linked says that its predecessor is kept.
func (j *journalFile) put(e *Entry, linked bool) error {
	kind, written := byte(recordPut), *e
	if linked {
		kind, written.Before = recordLinked, nil
	}
	return j.write(j.file, written.encode(j.begin(kind)))
}

func (j *journalFile) remove(key string) error {
	return j.write(j.file, append(j.begin(recordRemove), key...))
}

func (j *journalFile) begin(kind byte) []byte {
	return append(append(j.scratch[:0], make([]byte, recordHead)...), kind)
}

func (j *journalFile) write(file io.Writer, record []byte) error {
	j.scratch = record
	if cap(record) > 1<<20 {
		j.scratch = nil
	}
	binary.LittleEndian.PutUint32(record, uint32(len(record)-recordHead))
	binary.LittleEndian.PutUint32(record[4:], crc32.ChecksumIEEE(record[recordHead:]))
	n, err := file.Write(record)
	if err != nil {
		// A part of a record would hide all that follow.
		if f, ok := file.(*os.File); ok && n > 0 {
			_ = f.Truncate(j.written)
		}
		return fmt.Errorf("file of stored responses: %w", err)
	}
	j.written += int64(n)
	return nil
}

// leastRewrite is a size of the file below which it is not worth writing it anew.
const leastRewrite = 16 << 20

// wasteful reports whether much of the file may be of no use.
func (j *journalFile) wasteful() bool { return j.written > max(2*j.kept, leastRewrite) }

// compact writes the file anew, without what is gone. Where that fails the file serves as it is, until it has become
// twice as long.
func (j *journalFile) compact(m *memory) {
	j.stuck = ""
	if err := j.rewrite(m); err != nil {
		j.kept, j.stuck = j.written, err.Error()
		j.log.Warn("the file of stored responses cannot be written anew and grows", "file", j.path, "error", err)
	}
}

// rewrite writes what is kept into a new file, which takes the place of the old one.
func (j *journalFile) rewrite(m *memory) error {
	temporary := j.path + ".new"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	written := j.written
	j.written = 0
	out := bufio.NewWriterSize(file, 1<<20)
	for at, done := m.used.Front(), map[*node]bool{}; at != nil && err == nil; at = at.Next() {
		err = j.writeNode(out, m, at.Value.(*node), done)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = os.Rename(temporary, j.path)
	}
	if err != nil {
		j.written = written
		return errors.Join(err, file.Close(), os.Remove(temporary))
	}
	if j.file != nil {
		_ = j.file.Close()
	}
	j.file, j.kept = file, j.written
	return nil
}

// writeNode writes a node after the kept ones that it goes on from. What came before and is not kept goes with it.
func (j *journalFile) writeNode(out io.Writer, m *memory, n *node, done map[*node]bool) error {
	var line []*node
	for at := n; at != nil && !done[at] && m.nodes[at.key] == at; at = at.prev {
		line = append(line, at)
	}
	for i := len(line) - 1; i >= 0; i-- {
		at, kind := line[i], byte(recordLinked)
		entry := at.own()
		if at.prev == nil || !done[at.prev] {
			kind, entry = recordPut, at.whole()
		}
		if err := j.write(out, entry.encode(j.begin(kind))); err != nil {
			return err
		}
		done[at] = true
	}
	return nil
}

func (j *journalFile) close() error { return j.file.Close() }
