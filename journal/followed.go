package journal

import "encoding/binary"

// Followed is what followers have told the process: that there are any, and how they want to be told.
type Followed struct {
	// Time is when one last asked, nanoseconds since 1970.
	Time int64
	// Sample is of how many in a million requests the steps of the decision are wanted.
	Sample uint32
	// Kept is where the one that keeps its position here will go on when it is started anew.
	Kept Position
}

const (
	followedKey   = "pintle/v1/followed"
	followedBytes = 8 + 4 + positionBytes
)

// ReadFollowed returns what followers have told; ok is false when nobody follows.
func ReadFollowed(store Store) (f Followed, ok bool) {
	value, _, ok := store.Get(followedKey)
	if !ok || len(value) < followedBytes {
		return Followed{}, false
	}
	return Followed{
		Time: int64(binary.LittleEndian.Uint64(value)), Sample: binary.LittleEndian.Uint32(value[8:]),
		Kept: readPosition(value[12:]),
	}, true
}

// Write makes it what all VMs read.
func (f *Followed) Write(store Store) {
	var value [followedBytes]byte
	binary.LittleEndian.PutUint64(value[:], uint64(f.Time))
	binary.LittleEndian.PutUint32(value[8:], f.Sample)
	putPosition(value[12:], &f.Kept)
	store.Set(followedKey, value[:], 0)
}
