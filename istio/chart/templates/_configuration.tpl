{{/* The EndpointPickerConfig, as YAML. */}}
{{- define "pintle.config" -}}
{{ .Values.config | default (.Files.Get "config.yaml" | fromYaml) | toYaml }}
{{- end }}

{{/* The plug-in's configuration, as YAML. */}}
{{- define "pintle.configuration" -}}
ingest: {port: {{ .Values.ingest.port }}, tokenEnv: PINTLE_INGEST_TOKEN}
hold: {{ .Values.hold }}
destination: {{ .Values.destination }}
{{- with .Values.sidecar.asked }}
sidecar: {{ toJson . }}
{{- end }}
{{ pick .Values "dialect" "stale" "failing" "held" "startup" "empty" "load" "management" "unreadable" "strip" "subset" "shadow" "debug" | toYaml }}
config:
  {{- include "pintle.config" . | nindent 2 }}
{{- end }}

{{/* Not empty where the sidecar reads the plug-in's document, too. */}}
{{- define "pintle.plugins" -}}
{{- $config := include "pintle.config" . | fromYaml }}
{{- if or .Values.sidecar.plugins $config.dataLayer (include "pintle.pages" .) (include "pintle.precise" .)
  (include "pintle.stored" .) }}yes{{ end }}
{{- end }}

{{/* Not empty where a plug-in says how metrics are read: in llm-d's dialect it counts without a dataLayer, too. */}}
{{- define "pintle.pages" -}}
{{- $config := include "pintle.config" . | fromYaml | toJson }}
{{- if or (contains "\"type\":\"metrics-data-source\"" $config)
  (contains "\"type\":\"core-metrics-extractor\"" $config) }}yes{{ end }}
{{- end }}

{{/* Not empty where the plug-in goes by what servers tell of their caches, wherever the document says so. */}}
{{- define "pintle.precise" -}}
{{- if contains "\"type\":\"precise-prefix-cache-" (include "pintle.config" . | fromYaml | toJson) }}yes{{ end }}
{{- end }}

{{/* The plug-in responses-store of the configuration, as YAML; empty without one. */}}
{{- define "pintle.store" -}}
{{- $config := include "pintle.config" . | fromYaml }}
{{- range $config.plugins }}
{{- if eq .type "responses-store" }}{{ toYaml . }}{{ end }}
{{- end }}
{{- end }}

{{/* Where that plug-in itself has conversations kept, as YAML; empty where it leaves that open. */}}
{{- define "pintle.stored" -}}
{{- with (include "pintle.store" . | fromYaml).parameters }}
{{- with .storeConfig }}{{ toYaml . }}{{ end }}
{{- end }}
{{- end }}
