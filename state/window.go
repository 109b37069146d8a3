package state

import "time"

const (
	// WindowSamples is how many samples a window holds.
	WindowSamples = 128
	// DefaultWindowAge is how old they get.
	DefaultWindowAge = time.Minute

	windowShift = 4
)

// window is the latest samples of one quantity, ordered by time and, apart, by value.
type window struct {
	n      uint32
	sum    uint64
	times  [WindowSamples]int64
	values [WindowSamples]uint32
	sorted [WindowSamples]uint32
}

// Windows keeps exact recent samples, at most WindowSamples and no older than an age, of one quantity for many indexes.
//
// Add moves up to WindowSamples values, what is asked for takes O(1) steps. Both first drop what has grown old, once:
// O(WindowSamples) for each such sample, O(1) when they all are.
type Windows struct {
	age     int64
	clock   clock
	windows chunks[window]
	n       int
}

// NewWindows makes one that forgets samples at an age, 0 for DefaultWindowAge.
func NewWindows(age time.Duration) *Windows {
	if age <= 0 {
		age = DefaultWindowAge
	}
	w := &Windows{age: int64(age)}
	w.windows.shift = windowShift
	return w
}

// Resize makes room for indexes below n. It never shrinks.
func (w *Windows) Resize(n int) {
	if n > w.n {
		w.n = n
		w.windows.reach(uint32(n - 1))
	}
}

// Reset forgets all samples of an index.
func (w *Windows) Reset(index int) {
	if uint(index) < uint(w.n) {
		v := w.windows.at(uint32(index))
		v.n, v.sum = 0, 0
	}
}

// Expire sets the clock.
func (w *Windows) Expire(now int64) { w.clock.set(now) }

// Add enters a sample. When the window is full the oldest one makes way, which may be this one.
func (w *Windows) Add(index int, t int64, value uint32) {
	t = w.clock.at(t)
	v := w.at(index)
	if v == nil {
		return
	}
	i := after(v.times[:v.n], t)
	if v.n == WindowSamples {
		if i == 0 {
			return
		}
		v.forget(1)
		i--
	}
	copy(v.times[i+1:v.n+1], v.times[i:v.n])
	copy(v.values[i+1:v.n+1], v.values[i:v.n])
	v.times[i], v.values[i] = t, value
	i = v.rank(value)
	copy(v.sorted[i+1:v.n+1], v.sorted[i:v.n])
	v.sorted[i] = value
	v.sum += uint64(value)
	v.n++
}

// at is the window of an index without samples that are too old, nil when out of range.
func (w *Windows) at(index int) *window {
	if uint(index) >= uint(w.n) {
		return nil
	}
	v := w.windows.at(uint32(index))
	v.forget(after(v.times[:v.n], minus(w.clock.now, w.age)))
	return v
}

// forget takes the oldest samples out.
func (v *window) forget(oldest int) {
	if oldest == 0 {
		return
	}
	if oldest == int(v.n) {
		v.n, v.sum = 0, 0
		return
	}
	n := int(v.n)
	for _, value := range v.values[:oldest] {
		i := v.rank(value)
		copy(v.sorted[i:n-1], v.sorted[i+1:n])
		v.sum -= uint64(value)
		n--
		v.n--
	}
	n += oldest
	copy(v.times[:], v.times[oldest:n])
	copy(v.values[:], v.values[oldest:n])
}

// rank is where value stands among the sorted ones, or would.
func (v *window) rank(value uint32) int {
	low, high := 0, int(v.n)
	for low < high {
		middle := (low + high) / 2
		if v.sorted[middle] < value {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// Count is the number of samples of an index.
func (w *Windows) Count(index int) int {
	v := w.at(index)
	if v == nil {
		return 0
	}
	return int(v.n)
}

// Mean is the mean of the samples of an index, 0 without samples.
func (w *Windows) Mean(index int) float64 {
	v := w.at(index)
	if v == nil || v.n == 0 {
		return 0
	}
	return float64(v.sum) / float64(v.n)
}

// Percentile is the q-quantile, q from 0 to 1, of the n samples of an index, 0 without samples. It interpolates
// linearly between the two samples next to position q·(n-1) of the sorted ones (Hyndman and Fan, 1996, definition 7).
func (w *Windows) Percentile(index int, q float64) float64 {
	v := w.at(index)
	if v == nil || v.n == 0 {
		return 0
	}
	if !(q > 0) {
		return float64(v.sorted[0])
	}
	position := min(q, 1) * float64(v.n-1)
	i := int(position)
	if i+1 >= int(v.n) {
		return float64(v.sorted[v.n-1])
	}
	a, b := float64(v.sorted[i]), float64(v.sorted[i+1])
	return a + (b-a)*(position-float64(i))
}

// MemoryBytes is the memory that it holds.
func (w *Windows) MemoryBytes() int { return w.windows.memory() }
