package responses

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// leastRewrite is a size of the file below which it is not worth writing it anew.
const leastRewrite = 16 << 20

// wasteful reports whether much of the file may be of no use.
func (j *journalFile) wasteful() bool {
	return j.next == nil && j.written > max(2*j.kept, leastRewrite)
}

// compact writes the file anew, without what is gone. Where that fails the file serves as it is, until it has become
// twice as long.
func (j *journalFile) compact(m *memory) {
	j.stuck = ""
	if err := j.rewrite(m); err != nil {
		j.kept, j.stuck = j.written, err.Error()
		j.log.Warn("the file of stored responses cannot be written anew and grows", "file", j.path, "error", err)
	}
}

// rewrite writes what is kept into a new file, which takes the place of the old one once it is on the disk: before that
// a crash of the machine could leave neither. The memory's lock is released for what waits for the disk.
func (j *journalFile) rewrite(m *memory) error {
	err := j.copy(m)
	if err == nil {
		next := j.next
		m.mu.Unlock()
		err = j.sync(next)
		m.mu.Lock()
	}
	if err = j.replace(err); err != nil {
		return err
	}
	m.mu.Unlock()
	defer m.mu.Lock()
	if folder, err := os.Open(filepath.Dir(j.path)); err == nil {
		_ = j.sync(folder) // not all file systems can, and the new file is there either way
		_ = folder.Close()
	}
	return nil
}

// copy writes what is kept into a new file.
func (j *journalFile) copy(m *memory) error {
	file, err := os.OpenFile(j.path+newSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	j.next, j.failed, j.copied = file, nil, 0
	out := bufio.NewWriterSize(file, 1<<20)
	for at, done := m.used.Front(), map[*node]bool{}; at != nil; at = at.Next() {
		if err := j.writeNode(out, m, at.Value.(*node), done); err != nil {
			return err
		}
	}
	return out.Flush()
}

// newSuffix is what the name of a copy ends with.
const newSuffix = ".new"

// replace has the copy take the file's place, unless err, or what came since, says that it is none.
func (j *journalFile) replace(err error) error {
	next := j.next
	if next == nil {
		return err
	}
	j.next = nil
	if err == nil {
		err = j.failed
	}
	if err == nil {
		err = os.Rename(next.Name(), j.path)
	}
	if err != nil {
		return errors.Join(err, next.Close(), os.Remove(next.Name()))
	}
	if j.file != nil {
		_ = j.file.Close()
	}
	j.file, j.written, j.kept = next, j.copied, j.copied
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
		record := entry.encode(j.begin(kind))
		if err := j.write(out, record); err != nil {
			return err
		}
		j.copied += int64(len(record))
		done[at] = true
	}
	return nil
}
