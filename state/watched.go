package state

// watched is a model whose requests are counted.
type watched struct {
	hash uint64
	open uint32
}

// Watch has the requests of these models counted, given as hashes of their names, see journal.HashName, of which those
// beyond MaxModels are passed over. To be called before anything is opened.
func (f *InFlight) Watch(models []uint64) {
	for _, hash := range models[:min(len(models), MaxModels)] {
		f.models = append(f.models, watched{hash: hash})
	}
}

// OfModel is the number of requests of a model, by its place in what Watch was given.
func (f *InFlight) OfModel(place int) int {
	if uint(place) >= uint(len(f.models)) {
		return 0
	}
	return int(f.models[place].open)
}

// count charges a lease to its model.
func (f *InFlight) count(l *lease, model uint64) {
	if model == 0 {
		return
	}
	for i := range f.models {
		if f.models[i].hash == model {
			f.models[i].open++
			l.model = uint16(i + 1)
			return
		}
	}
}
