{{/* The plug-in's configuration, as YAML. */}}
{{- define "pintle.configuration" -}}
ingest: {port: {{ .Values.ingest.port }}, tokenEnv: PINTLE_INGEST_TOKEN}
hold: {{ .Values.hold }}
destination: {{ .Values.destination }}
{{ pick .Values "dialect" "stale" "load" "debug" "config" | toYaml }}
{{- end }}
{{/* Not empty where the sidecar reads the plug-in's document, too. */}}
{{- define "pintle.plugins" -}}
{{- $store := include "pintle.store" . | fromYaml }}
{{- if or .Values.sidecar.plugins .Values.config.dataLayer (dig "parameters" "storeConfig" nil $store) }}yes{{ end }}
{{- end }}

{{/* The plug-in responses-store of the configuration, as YAML; empty without one. */}}
{{- define "pintle.store" -}}
{{- range .Values.config.plugins }}
{{- if eq .type "responses-store" }}{{ toYaml . }}{{ end }}
{{- end }}
{{- end }}
