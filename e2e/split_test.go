package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/journal"
)

// split is a route to the model servers and to a cluster without Pintle, as docs/configuration.md says, by what a
// header says in the place of chance, and with copies to a third one.
var split = strings.NewReplacer("                  cluster: model-servers\n", `                  weighted_clusters:
                    header_name: x-chance
                    clusters:
                    - {name: model-servers, weight: 50}
                    - name: elsewhere
                      weight: 50
                      typed_per_filter_config:
                        pintle: {"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, disabled: true}
                  request_mirror_policies: [{cluster: copies}]
`)

// TestSplitRoute: of a route with several clusters by weight, Pintle decides and counts what goes to its own servers
// alone; of copies it counts nothing, and their failures are no server's.
func TestSplitRoute(t *testing.T) {
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			var servers [3]*harness.Scripted
			copies := make(chan string, 100)
			for i := range servers {
				var err error
				if servers[i], err = harness.NewScripted(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(servers[i].Close)
				servers[i].Script(t, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if i == 2 && !strings.Contains(string(body), "probe") {
						copies <- string(body)
					}
					w.Header().Set("X-Sim-Server", fmt.Sprint(i))
					w.WriteHeader([]int{http.StatusOK, http.StatusBadGateway, http.StatusInternalServerError}[i])
				})
			}
			o := harness.Options{Edit: func(config string) string {
				config = withCluster("elsewhere", servers[1].Address)(withCluster("copies", servers[2].Address)(config))
				return split.Replace(config)
			}}
			envoy := startEnvoy(t, o, cell, nil, map[string]any{"config": harness.Document(1)})
			envoy.Publish(t, harness.Endpoint{Name: "best", Address: servers[0].Address})
			told := toldOutcomes(t, envoy)
			for i, chance := range []string{"90", "10", "60", "40"} {
				request := harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath), chatBody, false)
				request.Header.Set("X-Chance", chance)
				got := harness.Send(t, harness.Client(t, i > 1), request)
				if want := []string{"1", "0"}[i%2]; got.Server() != want {
					t.Errorf("by the chance %s: got %d from %q, want server %s", chance, got.Status, got.Server(), want)
				}
				if body := awaited(t, "the copy", copies); body != chatBody {
					t.Errorf("the copy: got %s, want %s", body, chatBody)
				}
			}
			whole := fmt.Sprintf("status 200, code 200, ended %d, takes time true", journal.EndedWhole)
			told.want(t, whole, whole)
		})
	}
}
