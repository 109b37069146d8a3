package wazerohost

import "sync"

// status is a proxy-wasm result code.
type status = uint32

const (
	statusOK            status = 0
	statusNotFound      status = 1
	statusBadArgument   status = 2
	statusInvalidMemory status = 6
	statusCasMismatch   status = 8
)

// sharedData is the process-wide map behind proxy_get_shared_data: one lock, one counter, one name space per vm_id,
// nothing ever expires (proxy-wasm-cpp-host, src/shared_data.cc).
type sharedData struct {
	mu   sync.Mutex
	last uint32
	data map[string]map[string]sharedValue
}

type sharedValue struct {
	value []byte
	cas   uint32
}

func (d *sharedData) get(vmID, key string) (sharedValue, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	value, ok := d.data[vmID][key]
	return value, ok
}

// set stores value. A cas of 0 is unconditional; so is any cas for an absent key.
func (d *sharedData) set(vmID, key string, value []byte, cas uint32) status {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.data == nil {
		d.data = map[string]map[string]sharedValue{}
	}
	if d.data[vmID] == nil {
		d.data[vmID] = map[string]sharedValue{}
	}
	if old, ok := d.data[vmID][key]; ok && cas != 0 && cas != old.cas {
		return statusCasMismatch
	}
	d.last++
	if d.last == 0 { // 0 is never issued
		d.last++
	}
	d.data[vmID][key] = sharedValue{append([]byte(nil), value...), d.last}
	return statusOK
}

func (d *sharedData) keys(vmID string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	keys := make([]string, 0, len(d.data[vmID]))
	for key := range d.data[vmID] {
		keys = append(keys, key)
	}
	return keys
}
