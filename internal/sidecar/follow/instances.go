package follow

// MostInstances bounds how many instances are remembered: a process has one for each worker, for each crash, and for
// each new configuration.
const MostInstances = 1024

// Instances are those of the filter that were heard of. The zero value knows none and cannot note one; not for several
// goroutines at once.
type Instances map[uint64]struct{}

// Note takes down an instance. Where there are too many, all are forgotten: most are gone, and the others decide again.
func (s Instances) Note(instance uint64) {
	if s.Has(instance) {
		return
	}
	if len(s) == MostInstances {
		clear(s)
	}
	s[instance] = struct{}{}
}

// Has reports whether an instance was noted.
func (s Instances) Has(instance uint64) bool {
	_, known := s[instance]
	return known
}
