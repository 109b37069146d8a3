package tokens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens/chat"
	"github.com/pintle-dev/pintle/scoring"
)

// hub downloads the files of a model as the Hub of Hugging Face serves them, into a folder that is laid out as the
// caches of its own libraries: models--ORG--NAME/snapshots/COMMIT, and refs that name commits.
type hub struct {
	endpoint, token string
	model, revision string
	dir             string
	client          *http.Client
	most            int64 // bytes of a file
}

const (
	// hubTimeout bounds all of a download, mostFile the bytes of a file.
	hubTimeout = 2 * time.Minute
	mostFile   = 256 << 20

	fileTokenizer = "tokenizer.json"
	fileConfig    = "tokenizer_config.json"
)

var commitName = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// newDownloaded downloads the files of a model, if they are not there, and reads them. Where that is not to be had now
// it is later.
func newDownloaded(c *scoring.TokenBackend, servers Servers) (Backend, error) {
	h := &hub{
		endpoint: strings.TrimSuffix(cmp.Or(os.Getenv("HF_ENDPOINT"), "https://huggingface.co"), "/"),
		token:    cmp.Or(c.Token, os.Getenv("HF_TOKEN")),
		model:    c.Tokenizer(), revision: cmp.Or(c.Revision, "main"), dir: c.Dir,
		client: &http.Client{Timeout: hubTimeout}, most: mostFile,
	}
	var mistake error
	c.Check(func(key, problem string) { mistake = cmp.Or(mistake, fmt.Errorf("%s: %s", key, problem)) })
	if mistake != nil {
		return nil, mistake
	}
	load := func(ctx context.Context) (*local, error) {
		dir, err := h.snapshot(ctx)
		if err != nil {
			return nil, err
		}
		return openLocal(filepath.Join(dir, fileTokenizer), servers)
	}
	ctx, cancel := context.WithTimeout(context.Background(), firstTry)
	defer cancel()
	l, err := load(ctx)
	var unreached errUnreached
	if errors.As(err, &unreached) {
		return &later{load: load, failed: err, least: leastRetry}, nil
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (h *hub) home() string {
	return filepath.Join(h.dir, "models--"+strings.ReplaceAll(h.model, "/", "--"))
}

func (h *hub) ref() string { return filepath.Join(h.home(), "refs", filepath.FromSlash(h.revision)) }

// snapshot returns the folder with the files of the revision.
func (h *hub) snapshot(ctx context.Context) (string, error) {
	commit, err := h.commit(ctx)
	var refused errRefused
	switch known, readErr := os.ReadFile(h.ref()); {
	case err == nil:
	case errors.As(err, &refused) || readErr != nil || !commitName.Match(known):
		return "", err
	default: // the Hub cannot be reached: what was there before serves
		commit = string(known)
	}
	dir := filepath.Join(h.home(), "snapshots", commit)
	if _, statErr := os.Stat(filepath.Join(dir, fileTokenizer)); statErr == nil {
		if err == nil {
			// For the next time that the Hub cannot be reached. A cache that others fill need not be writable.
			_ = h.write(h.ref(), strings.NewReader(commit))
		}
		return dir, nil
	} else if err != nil {
		return "", err
	}
	if err := h.download(ctx, commit, dir); err != nil {
		return "", err
	}
	return dir, h.write(h.ref(), strings.NewReader(commit))
}

// errRefused is the answer of a Hub that was reached.
type errRefused string

// Error implements error.
func (e errRefused) Error() string { return string(e) }

// get asks for a file.
func (h *hub) get(ctx context.Context, method, revision, file string) (*http.Response, error) {
	url := h.endpoint + "/" + h.model + "/resolve/" + strings.ReplaceAll(revision, "/", "%2F") + "/" + file
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, fmt.Errorf("HF_ENDPOINT: %w", err)
	}
	if h.token != "" {
		request.Header.Set("Authorization", "Bearer "+h.token)
	}
	response, err := h.client.Do(request)
	if err != nil {
		return nil, errUnreached{fmt.Errorf("tokenizer: %q cannot be downloaded: %w", h.model, err)}
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	_ = response.Body.Close()
	said := fmt.Sprintf("tokenizer: %q cannot be downloaded: %s answers %s", h.model, url, response.Status)
	if response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden {
		said += "; huggingFaceToken or HF_TOKEN is needed, or is not let in"
	}
	if s := response.StatusCode; s >= http.StatusInternalServerError || s == http.StatusTooManyRequests ||
		s == http.StatusRequestTimeout {
		return nil, errUnreached{errors.New(said)}
	}
	return response, errRefused(said)
}

// commit asks for the commit of the revision, without following to where the file is kept.
func (h *hub) commit(ctx context.Context) (string, error) {
	if commitName.MatchString(h.revision) && len(h.revision) == 40 {
		if _, err := os.Stat(filepath.Join(h.home(), "snapshots", h.revision, fileTokenizer)); err == nil {
			return h.revision, nil
		}
	}
	commit := ""
	client := *h.client
	note := func(r *http.Response) {
		if r != nil && commit == "" {
			commit = r.Header.Get("X-Repo-Commit")
		}
	}
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if note(r.Response); len(via) > 10 {
			return errors.New("too many redirects")
		}
		return nil
	}
	asking := *h
	asking.client = &client
	response, err := asking.get(ctx, http.MethodHead, h.revision, fileTokenizer)
	if err != nil {
		return "", err
	}
	_ = response.Body.Close()
	if note(response); !commitName.MatchString(commit) {
		return "", errRefused(fmt.Sprintf("tokenizer: %q: %s does not say which commit %s is", h.model, h.endpoint,
			h.revision))
	}
	return commit, nil
}

// partialPrefix begins the names of folders that are not complete.
const partialPrefix = ".partial-"

// clearPartial removes what sidecars have left that ended in the middle of a download, and are no longer at it.
func clearPartial(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), partialPrefix) && time.Since(info.ModTime()) > 2*hubTimeout {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// download fetches the files of a commit. The folder is there when all of them are.
func (h *hub) download(ctx context.Context, commit, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("tokenizersCacheDir: %w", err)
	}
	clearPartial(filepath.Dir(dir))
	partial, err := os.MkdirTemp(filepath.Dir(dir), partialPrefix)
	if err != nil {
		return fmt.Errorf("tokenizersCacheDir: %w", err)
	}
	defer func() { _ = os.RemoveAll(partial) }()
	for _, file := range append([]string{fileTokenizer, fileModel}, chat.Files...) {
		response, err := h.get(ctx, http.MethodGet, commit, file)
		if response != nil && response.StatusCode == http.StatusNotFound && file != fileTokenizer {
			continue
		}
		if err != nil {
			return err
		}
		err = h.writeBounded(filepath.Join(partial, file), response)
		_ = response.Body.Close()
		if err != nil {
			return err
		}
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return fmt.Errorf("tokenizersCacheDir: %w", err)
	}
	if err := os.Rename(partial, dir); err != nil {
		// Another sidecar may have been quicker.
		if _, statErr := os.Stat(filepath.Join(dir, fileTokenizer)); statErr != nil {
			return fmt.Errorf("tokenizersCacheDir: %w", err)
		}
	}
	return nil
}

// writeBounded writes a file that was downloaded, unless it is longer than any that is known.
func (h *hub) writeBounded(path string, response *http.Response) error {
	bounded := &io.LimitedReader{R: response.Body, N: h.most + 1}
	if response.ContentLength <= h.most {
		if err := h.write(path, bounded); err != nil || bounded.N > 0 {
			return err
		}
	}
	return fmt.Errorf("tokenizer: %q cannot be downloaded: %s has more than %d bytes", h.model, filepath.Base(path),
		h.most)
}

func (h *hub) write(path string, content io.Reader) error {
	all, err := io.ReadAll(content)
	if err != nil {
		return errUnreached{fmt.Errorf("tokenizer: %q cannot be downloaded: %w", h.model, err)}
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
		err = os.WriteFile(path, all, 0o644)
	}
	if err != nil {
		return fmt.Errorf("tokenizersCacheDir: %w", err)
	}
	return nil
}
