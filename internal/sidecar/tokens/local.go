package tokens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens/bpe"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens/chat"
	"github.com/pintle-dev/pintle/scoring"
)

// local makes the tokens of texts by the file of a model, and of chats by the template beside it. A chat of which it is
// not sure is left to others.
type local struct {
	tokenizer *bpe.Tokenizer
	template  *chat.Template // nil where there is none that is known here
	note      string         // why
	// missing are tokens that the file does not have, and engines do: texts with them are left to these.
	missing []string
	servers Servers
}

// newLocal reads the file that a document names.
func newLocal(c *scoring.TokenBackend, servers Servers) (*local, error) {
	path, err := findFile(c)
	if err != nil {
		return nil, err
	}
	return openLocal(path, servers)
}

// findFile finds the tokenizer.json of a model: by the map, else below the folder.
func findFile(c *scoring.TokenBackend) (string, error) {
	model := c.Tokenizer()
	if path, ok := c.Mapped(); ok {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return filepath.Join(path, c.File), nil
		}
		return path, nil
	}
	var found []string
	dir, err := filepath.EvalSymlinks(c.Dir)
	if c.Dir == "" { // which would be the working directory
		err = fs.ErrNotExist
	}
	if err == nil {
		found, err = filesBelow(dir, c.File)
	}
	if err != nil {
		return "", fmt.Errorf("autoDiscoveryDir: %q cannot be searched: %w", c.Dir, err)
	}
	of := slices.DeleteFunc(slices.Clone(found), func(path string) bool { return !isOf(dir, path, model) })
	if i := slices.IndexFunc(of, isCurrent); i >= 0 {
		return of[i], nil
	}
	if len(of) > 0 {
		return of[0], nil
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return "", fmt.Errorf("autoDiscoveryDir: %q has %d files %s, and none for %q; modelTokenizerMap can name it", c.Dir,
		len(found), c.File, model)
}

// mostFiles bounds the search.
const mostFiles = 10_000

func filesBelow(dir, name string) (found []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), partialPrefix) {
			return fs.SkipDir
		}
		if !d.IsDir() && d.Name() == name {
			found = append(found, path)
		}
		if len(found) > mostFiles {
			return errors.New("too many files")
		}
		return nil
	})
	return found, err
}

// isOf reports whether a file lies where that of a model is: in a folder of its name, or in a cache of the hub.
func isOf(dir, path, model string) bool {
	folder, err := filepath.Rel(dir, filepath.Dir(path))
	if err != nil {
		return false
	}
	folder = filepath.ToSlash(folder)
	return folder == model || strings.HasSuffix(folder, "/"+model) ||
		strings.Contains("/"+folder+"/", "/models--"+strings.ReplaceAll(model, "/", "--")+"/")
}

// isCurrent reports whether a file in a cache of the hub is of the commit that the branch main is there.
func isCurrent(path string) bool {
	snapshot := filepath.Dir(path)
	commit, err := os.ReadFile(filepath.Join(snapshot, "..", "..", "refs", "main"))
	return err == nil && strings.TrimSpace(string(commit)) == filepath.Base(snapshot)
}

// openLocal reads a tokenizer.json.
func openLocal(path string, servers Servers) (*local, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l := &local{servers: servers}
	if l.tokenizer, err = bpe.New(content); err == nil {
		err = cmp.Or(checkClass(filepath.Dir(path), content), checkAdded(filepath.Dir(path), content))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; without it the model servers are asked", path, err)
	}
	l.missing = missing(filepath.Dir(path), content)
	if l.template, err = chat.Open(filepath.Dir(path)); err != nil {
		l.note = fmt.Sprintf("the tokens of chats are asked of the model servers: %v", err)
	}
	return l, nil
}

// Tokens implements Backend.
func (l *local) Tokens(ctx context.Context, p *Prompt) (Encoded, error) {
	if e, done, err := l.atOnce(p); done {
		return e, err
	}
	return (&engines{servers: l.servers}).Tokens(ctx, p)
}

// atOnce implements the interface of that name.
func (l *local) atOnce(p *Prompt) (e Encoded, done bool, err error) {
	text, timed, special := p.Text, false, true
	sglang := l.servers.SGLang(p.Model)
	if p.Chat {
		if l.template == nil || p.Template != "" || sglang && !p.plain() {
			return e, false, nil
		}
		if text, timed, err = l.template.Render(&chat.Chat{Messages: p.Messages, Tools: p.Tools, Documents: p.Documents,
			Values: p.TemplateValues, AddGeneration: p.AddGeneration, Continue: p.Continue}); err != nil {
			return e, false, nil
		}
		special = false // the template writes them
	}
	if slices.ContainsFunc(l.missing, func(token string) bool { return strings.Contains(text, token) }) {
		return e, false, nil
	}
	if p.AddSpecial != nil && !sglang { // which does not heed it
		special = *p.AddSpecial
	}
	ids, err := l.tokenizer.Encode(make([]uint32, 0, len(text)/3+16), text, special)
	if err != nil {
		return e, true, ErrNone("text")
	}
	return Encoded{Tokens: ids, Timed: timed}, true, nil
}
