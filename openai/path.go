package openai

import "strings"

// CleanPath returns a request path as the servers behind a proxy may come to understand it: without query and fragment,
// percent-encoded bytes decoded once, without empty, "." and ".." segments, without a slash at its end. It is path
// itself, or a part of it, where nothing is to be decoded or left out; else it lies in scratch, which is returned for
// the next call.
func CleanPath(scratch []byte, path string) (clean string, grown []byte) {
	path = withoutQuery(path)
	if path == "" || path[0] != '/' || isClean(path) {
		return path, scratch
	}
	scratch = decode(scratch[:0], path)
	scratch = scratch[:resolve(scratch)]
	return view(scratch), scratch
}

func withoutQuery(path string) string {
	for i := range len(path) {
		if path[i] == '?' || path[i] == '#' {
			return path[:i]
		}
	}
	return path
}

// isClean reports whether nothing in path is to be decoded or left out.
func isClean(path string) bool {
	for i := range len(path) {
		switch path[i] {
		case '%':
			return false
		case '/':
			if i+1 == len(path) && i > 0 || i+1 < len(path) && (path[i+1] == '/' || path[i+1] == '.') {
				return false
			}
		}
	}
	return true
}

// decode appends path with its percent-encoded bytes decoded. What is no valid encoding stays as it is.
func decode(dst []byte, path string) []byte {
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			high, low := hexDigit(path[i+1]), hexDigit(path[i+2])
			if high < 16 && low < 16 {
				dst = append(dst, high<<4|low)
				i += 2
				continue
			}
		}
		dst = append(dst, path[i])
	}
	return dst
}

func hexDigit(c byte) byte {
	switch {
	case c-'0' < 10:
		return c - '0'
	case c|0x20-'a' < 6:
		return c | 0x20 - 'a' + 10
	}
	return 16
}

// resolve leaves out empty and "." segments of path, which begins with a slash, and with each ".." the segment before
// it, in place. It returns the new length.
func resolve(path []byte) int {
	n := 0
	for start := 0; start < len(path); {
		end := start
		for end < len(path) && path[end] != '/' {
			end++
		}
		switch segment := view(path[start:end]); segment {
		case "", ".":
		case "..":
			for n > 0 {
				if n--; path[n] == '/' {
					break
				}
			}
		default:
			path[n] = '/'
			n += 1 + copy(path[n+1:], segment)
		}
		start = end + 1
	}
	if n == 0 {
		n = copy(path, "/")
	}
	return n
}

// lastSegment returns what follows the last slash.
func lastSegment(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// hasSegment reports whether name is one of path's segments.
func hasSegment(path, name string) bool {
	for path != "" {
		var segment string
		segment, path, _ = strings.Cut(path, "/")
		if segment == name {
			return true
		}
	}
	return false
}
