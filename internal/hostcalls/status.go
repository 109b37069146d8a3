package hostcalls

// status is what the host answers to a call.
type status uint32

const (
	statusOK          status = 0
	statusNotFound    status = 1
	statusBadArgument status = 2
	statusCasMismatch status = 8
)

// Error implements error.
func (s status) Error() string {
	switch s {
	case statusNotFound:
		return "error status returned by host: not found"
	case statusBadArgument:
		return "error status returned by host: bad argument"
	case statusCasMismatch:
		return "error status returned by host: cas mismatch"
	}
	return "error status returned by host"
}

// failure is the error of a status, nil for none.
func failure(s status) error {
	if s == statusOK {
		return nil
	}
	return s
}
