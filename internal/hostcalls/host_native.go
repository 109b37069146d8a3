//go:build !tinygo

package hostcalls

// Outside Wasm there is no host.

func setTickPeriod(uint32) status                              { return statusNotFound }
func setEffectiveContext(uint32) status                        { return statusNotFound }
func continueRequest() status                                  { return statusNotFound }
func log(uint32, string)                                       {}
func sendResponse(uint32, []byte, []byte) status               { return statusNotFound }
func bufferBytes(*Buffer, uint32, int, int) ([]byte, error)    { return nil, statusNotFound }
func setRequestBody(int, []byte) error                         { return statusNotFound }
func headerPairs(*Buffer, uint32) (pairs []byte, ok bool)      { return nil, false }
func headerValue(*Buffer, uint32, string) (string, bool)       { return "", false }
func replaceHeader(uint32, string, string) status              { return statusNotFound }
func removeHeader(uint32, string) status                       { return statusNotFound }
func property(*Buffer, string) (value []byte, ok bool)         { return nil, false }
func setProperty(string, []byte) error                         { return statusNotFound }
func sharedData(*Buffer, string) ([]byte, uint32, bool)        { return nil, 0, false }
func setSharedData(string, []byte, uint32) status              { return statusNotFound }
func callForeign(string, []byte) status                        { return statusNotFound }
func defineMetric(uint32, string) uint32                       { return 0 }
func incrementMetric(uint32, uint64)                           {}
func recordMetric(uint32, uint64)                              {}
func httpCall(string, []byte, []byte, uint32) (uint32, status) { return 0, statusNotFound }
