{{/* The plug-in's configuration, as YAML. */}}
{{- define "pintle.configuration" -}}
ingest: {port: {{ .Values.ingest.port }}, tokenEnv: PINTLE_INGEST_TOKEN}
hold: {{ .Values.hold }}
destination: {{ .Values.destination }}
{{ pick .Values "dialect" "stale" "load" "debug" "config" | toYaml }}
{{- end }}
{{/* Not empty where the sidecar reads the plug-in's document, too. */}}
{{- define "pintle.plugins" -}}
{{- if or .Values.sidecar.plugins .Values.config.dataLayer }}yes{{ end }}
{{- end }}
