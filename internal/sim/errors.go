package sim

import (
	"encoding/json"
	"net/http"
)

// apiError is an answer in OpenAI's error envelope; code is the HTTP status, as in vLLM.
type apiError struct {
	status  int
	message string
	kind    string
	param   string
}

func badRequest(param, message string) *apiError {
	return &apiError{http.StatusBadRequest, message, "BadRequestError", param}
}

func (e *apiError) write(w http.ResponseWriter) {
	var envelope struct {
		Error struct {
			Message string  `json:"message"`
			Type    string  `json:"type"`
			Param   *string `json:"param"`
			Code    int     `json:"code"`
		} `json:"error"`
	}
	envelope.Error.Message, envelope.Error.Type, envelope.Error.Code = e.message, e.kind, e.status
	if e.param != "" {
		envelope.Error.Param = &e.param
	}
	writeJSON(w, e.status, envelope)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
