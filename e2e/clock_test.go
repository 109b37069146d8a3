package e2e

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// wrongClock is a library that adds, to the clock of a program that is started with it, the seconds in a file, or stops
// it at the nanoseconds that follow them there, unless these are 0.
const wrongClock = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile long *set(void) {
  static volatile long *numbers;
  static long none[2];
  if (!numbers) {
    const char *path = getenv("CLOCK_FILE");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return none;
    void *page = mmap(0, sizeof none, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) return none;
    numbers = page;
  }
  return numbers;
}
int clock_gettime(clockid_t clock, struct timespec *t) {
  int failed = syscall(SYS_clock_gettime, clock, t);
  if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
  volatile long *numbers = set();
  long stopped = numbers[1];
  if (stopped) {
    t->tv_sec = stopped / 1000000000;
    t->tv_nsec = stopped % 1000000000;
  }
  t->tv_sec += numbers[0];
  return failed;
}
int gettimeofday(struct timeval *t, void *zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
`

// clock is the time of day as an Envoy sees it, which a test sets. What lasts goes by another clock of the system's.
type clock struct {
	file, library string
	ahead         time.Duration
}

func newClock(t *testing.T) *clock {
	t.Helper()
	folder := t.TempDir()
	source := filepath.Join(folder, "clock.c")
	c := &clock{file: filepath.Join(folder, "seconds"), library: filepath.Join(folder, "clock.so")}
	if err := os.WriteFile(source, []byte(wrongClock), 0o600); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command("clang-19", "-O1", "-fPIC", "-shared", "-o", c.library, source)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.write(t, 8, 0)
	c.advance(t, 0)
	return c
}

// variables are those by which a program gets the clock.
func (c *clock) variables() []string {
	return []string{"LD_PRELOAD=" + c.library, "CLOCK_FILE=" + c.file}
}

// advance sets the clock forward, or back, by whole seconds. The file is written in place: programs have it mapped.
func (c *clock) advance(t *testing.T, by time.Duration) {
	t.Helper()
	c.ahead += by
	c.write(t, 0, int64(c.ahead/time.Second))
}

// stop has the clock stand still but for what it is advanced by.
func (c *clock) stop(t *testing.T) {
	t.Helper()
	c.write(t, 8, time.Now().UnixNano())
}

func (c *clock) write(t *testing.T, at, number int64) {
	t.Helper()
	file, err := os.OpenFile(c.file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(number)), at); err != nil {
		t.Fatal(err)
	}
}
