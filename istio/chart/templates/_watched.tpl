{{/* What the sidecar watches: for each namespace the keys of all its pools. */}}
{{- define "pintle.watched" -}}
{{- $watched := dict }}
{{- range .Values.sidecar.kubernetes.pools }}
{{- $_ := set $watched .namespace (merge (get $watched .namespace | default dict) .) }}
{{- end }}
{{- toYaml $watched }}
{{- end }}
