package sim

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// A golden file is a path, a request body, a line of dashes, and the answer with its status and content type.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".golden"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			request, want, ok := strings.Cut(string(content), "\n----\n")
			if !ok && !*update {
				t.Fatal("no line of dashes")
			}
			path, body, _ := strings.Cut(request, "\n")
			synctest.Test(t, func(t *testing.T) {
				got := answer(t, path, body)
				if *update {
					err = os.WriteFile(file, []byte(request+"\n----\n"+got), 0o644)
				} else if got != want {
					t.Errorf("got:\n%s\nwant:\n%s", got, want)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func answer(t *testing.T, path, body string) string {
	s, err := New(Config{Models: []string{"m"}, Adapters: []string{"adapter"}, Seed: 7, BlockTokens: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
	var b bytes.Buffer
	b.WriteString(http.StatusText(w.Code) + ", " + w.Header().Get("Content-Type") + "\n")
	b.Write(w.Body.Bytes())
	if !bytes.HasSuffix(b.Bytes(), []byte("\n")) {
		b.WriteByte('\n')
	}
	return b.String()
}
