{{/* The label of the gateway's pods. */}}
{{- define "pintle.selector" -}}
{{ if .Values.gateway.api }}gateway.networking.k8s.io/gateway-name: pintle{{ else }}app.kubernetes.io/name: pintle-gateway{{ end }}
{{- end }}

{{/* Not empty where requests go along a ranked list. */}}
{{- define "pintle.ranked" -}}
{{ if or (eq .Values.destination "override-host") (eq .Values.hold "pause") }}yes{{ end }}
{{- end }}
