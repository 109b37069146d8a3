{{/* What the chart says in the sidecar's configuration, as YAML. */}}
{{- define "pintle.sidecar" -}}
envoy:
  ingest: http://127.0.0.1:{{ .Values.ingest.port }}/pintle/v1/snapshot
  tokenFile: /run/pintle/token
  drain: {{ sub (int .Values.gateway.terminationGracePeriodSeconds) 10 }}s
admin: {public: ":10002"}
{{- if include "pintle.store" . }}
responses: {{ with .Values.responses.storeConfig }}{{ dict "storeConfig" . | toJson }}{{ else }}{}{{ end }}
{{- end }}
{{- with .Values.sidecar.scrape }}
scrape: {{ toJson . }}
{{- end }}
{{- with .Values.sidecar.replicate }}
replicate: {{ toJson . }}
{{- end }}
{{- if .Values.sidecar.kubernetes.pools }}
discovery: {kubernetes: {{ pick .Values.sidecar.kubernetes "pools" | toJson }}}
{{- else if not (get .Values.sidecar.config "discovery") }}
discovery: {file: endpoints.yaml}
{{- end }}
{{- end }}
