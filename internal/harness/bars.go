package harness

import "os"

// Bars reports whether tests shall assert how long things take, which only an idle machine can promise. make bars does.
func Bars() bool { return os.Getenv("PINTLE_BARS") != "" }
