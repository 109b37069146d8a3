package admin

import (
	"net/http"
	"strconv"
)

// decisions answers with the last decisions, or with those that have changed since the change that since names.
func (a *Admin) decisions(w http.ResponseWriter, r *http.Request) {
	since, err := strconv.ParseUint(r.URL.Query().Get("since"), 10, 64)
	if err != nil && r.URL.Query().Has("since") {
		http.Error(w, "since: a number is right", http.StatusBadRequest)
		return
	}
	writeJSON(w, http.StatusOK, a.Traffic.Decisions(since))
}

// decision answers with one decision and how it came about.
func (a *Admin) decision(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil {
		http.Error(w, "the number of a decision is right", http.StatusBadRequest)
		return
	}
	d, ok := a.Traffic.Decision(id)
	if !ok {
		http.Error(w, "the decision is no longer there", http.StatusNotFound)
		return
	}
	writeJSON(w, http.StatusOK, d)
}

func (a *Admin) plots(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, a.Traffic.Plots())
}
