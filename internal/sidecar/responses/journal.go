package responses

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
)

// journalFile is where the entries in memory last: records one after another, each with its length and a checksum. A
// record is in the file before it is acknowledged; what a crash of the machine loses is what the system had not written
// yet of the last ones. The memory's lock is held for all of it.
type journalFile struct {
	path string
	file *os.File
	// next is a copy without what is gone that is not on the disk yet; it takes all that the file takes, and failed is
	// why it cannot.
	next   *os.File
	failed error
	// written is how long the file is, kept how long it was when it held nothing but what is kept, copied how long next
	// is.
	written, kept, copied int64
	scratch               []byte
	// sync has the system write a file, or a folder, to the disk.
	sync func(*os.File) error
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
// What something else has written, or another release, is left as it is, and so is what cannot be read now.
func openJournal(path string, m *memory, log *slog.Logger) (*journalFile, error) {
	j := &journalFile{path: path, log: log, sync: (*os.File).Sync}
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
		if unread := (*fs.PathError)(nil); errors.As(torn, &unread) {
			return nil, unread // what lies behind may be whole
		}
		if torn != nil {
			log.Warn("the end of the file of stored responses cannot be read and is left out", "file", path,
				"error", torn)
		}
	}
	m.sweep()
	m.mu.Lock()
	defer m.mu.Unlock()
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
		m.deleted[string(record[1:])] = m.now().Add(deletedFor) // which may have been just now
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
	return j.append(written.encode(j.begin(kind)))
}

func (j *journalFile) remove(key string) error {
	return j.append(append(j.begin(recordRemove), key...))
}

func (j *journalFile) begin(kind byte) []byte {
	return append(append(j.scratch[:0], make([]byte, recordHead)...), kind)
}

// append writes a record to the file, and to its copy.
func (j *journalFile) append(record []byte) error {
	if err := j.write(j.file, record); err != nil {
		_ = j.file.Truncate(j.written) // a part of a record would hide all that follow
		return err
	}
	j.written += int64(len(record))
	if j.next != nil && j.failed == nil {
		j.failed = j.write(j.next, record)
		j.copied += int64(len(record))
	}
	return nil
}

func (j *journalFile) write(file io.Writer, record []byte) error {
	j.scratch = record
	if cap(record) > 1<<20 {
		j.scratch = nil
	}
	binary.LittleEndian.PutUint32(record, uint32(len(record)-recordHead))
	binary.LittleEndian.PutUint32(record[4:], crc32.ChecksumIEEE(record[recordHead:]))
	if _, err := file.Write(record); err != nil {
		return fmt.Errorf("file of stored responses: %w", err)
	}
	return nil
}

func (j *journalFile) close() error { return j.file.Close() }
