package main

var stateMutants = []mutant{
	{file: "state/busy.go", name: "idle endpoints become busy", before: "\tif open > 0 {\n\t\tshare += 1 - keep\n\t}\n", after: "\tshare += 1 - keep\n"},
	{file: "state/busy.go", name: "a clock set back makes endpoints busier", before: "if now <= b.since {", after: "if now == b.since {"},
	{file: "state/recent.go", name: "a full list keeps the oldest", before: "\tif i > 0 {\n\t\tcopy(r.times[:i-1], r.times[1:i])", after: "\tif i > RecentTimes {\n\t\tcopy(r.times[:i-1], r.times[1:i])"},
	{file: "state/recent.go", name: "removes another time", before: "if i < 0 || r.times[i] != t {", after: "if i < 0 {"},
	{file: "state/recent.go", name: "the same time counts as later", before: "if times[middle] <= t {", after: "if times[middle] < t {"},
	{file: "state/window.go", name: "the sum keeps what left", before: "\t\tv.sum -= uint64(value)\n", after: ""},
	{file: "state/window.go", name: "percentiles without interpolation", before: "return a + (b-a)*(position-float64(i))", after: "return a + 0*b"},
	{file: "state/window.go", name: "percentile above the last sample", before: "min(q, 1) * float64(v.n-1)", after: "min(q, 1) * float64(v.n)"},
	{file: "state/window.go", name: "samples grow old later", before: "\tv.cut(0, after(v.times[:v.n], minus(w.clock.now, w.age)))\n", after: ""},
	{file: "state/table.go", name: "an entry of half a key is found", before: "if n.low == low && n.high == high {", after: "if n.low == low {"},
	{file: "state/table.go", name: "numbers are not given again", before: "\tt.free = i\n\tt.used--", after: "\tt.used--"},
	{file: "state/table.go", name: "a split leaves entries behind", before: "if n.low&t.mask != fresh {", after: "if n.low&t.mask != fresh || n.next == 0 {"},
	{file: "state/coldlru.go", name: "the newest is forgotten", before: "c.Reset(int(c.oldest) - 1)", after: "c.Reset(int(c.newest) - 1)"},
	{file: "state/coldlru.go", name: "the prefill endpoint is no cold use", before: "\t\tc.Use(s.prefill)\n", after: ""},
	{file: "state/coldlru.go", name: "warm requests count", before: "s.Kind == journal.Decision && s.Cold {", after: "s.Kind == journal.Decision {"},
	{file: "state/heap.go", name: "the last child is overlooked", before: "if child+1 < n && f.earlier", after: "if child+2 < n && f.earlier"},
	{file: "state/heap.go", name: "a filled place goes down only", before: "\t\tf.up(last, place)\n\t\treturn\n", after: ""},
	{file: "state/inflight.go", name: "prefill endpoints are not charged", before: "\tf.charge(l, endpoints.Index(e.Prefill))\n", after: ""},
	{file: "state/inflight.go", name: "a reset endpoint keeps its old leases", before: "load{epoch: f.loads[index].epoch + 1}", after: "load{epoch: f.loads[index].epoch}"},
	{file: "state/inflight.go", name: "leases of the dead stay", before: "\t\tf.DropInstance(s.Instance)\n", after: ""},
}
