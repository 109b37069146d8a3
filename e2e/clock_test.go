package e2e

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// wrongClock is a library that adds, to the clock of a program that is started with it, the seconds in a file.
const wrongClock = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long ahead(void) {
  static volatile long *seconds;
  if (!seconds) {
    const char *path = getenv("CLOCK_FILE");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return 0;
    void *page = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) return 0;
    seconds = page;
  }
  return *seconds;
}
int clock_gettime(clockid_t clock, struct timespec *t) {
  int failed = syscall(SYS_clock_gettime, clock, t);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) t->tv_sec += ahead();
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
	file, err := os.OpenFile(c.file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(c.ahead/time.Second)), 0); err != nil {
		t.Fatal(err)
	}
}
