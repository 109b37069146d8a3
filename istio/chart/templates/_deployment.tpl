{{/* The gateway's pods: whole with Istio's injector, which makes istio-proxy its proxy; with gateway.api what istiod lays over its own. */}}
{{- define "pintle.deployment" -}}
spec:
  {{- with .Values.gateway.replicas }}
  replicas: {{ . }}
  {{- end }}
  {{- if not .Values.gateway.api }}
  selector:
    matchLabels: { {{- include "pintle.selector" . -}} }
  {{- end }}
  strategy:
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  template:
    metadata:
      {{- if not .Values.gateway.api }}
      labels:
        {{ include "pintle.selector" . }}
        sidecar.istio.io/inject: "true"
      {{- end }}
      annotations:
        kubectl.kubernetes.io/default-container: istio-proxy
        {{- if not .Values.gateway.api }}
        inject.istio.io/templates: gateway
        sidecar.istio.io/bootstrapOverride: pintle-bootstrap
        {{- end }}
        # Without a number of workers and a limit of processors there is a worker for each processor of the node, and each keeps a state
        # of its own: docs/operations.md has what memory they need.
        proxy.istio.io/config: >-
          {"concurrency": {{ .Values.gateway.concurrency }}, "proxyMetadata": {"ISTIO_META_GLOBAL_DOWNSTREAM_MAX_CONNECTIONS": "20000"
          {{- if not .Values.gateway.api }}, "EXIT_ON_ZERO_ACTIVE_CONNECTIONS": "true"{{ end }}}}
    spec:
      {{- if not .Values.gateway.api }}
      serviceAccountName: pintle-gateway
      {{- end }}
      automountServiceAccountToken: false
      {{- with .Values.pullSecret }}
      imagePullSecrets: [{name: {{ . | quote }}}]
      {{- end }}
      {{- with .Values.gateway.scheduling }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      # Answers stream for minutes: a pod that is told to end waits for them. Istio's agent does so by EXIT_ON_ZERO_ACTIVE_CONNECTIONS,
      # without which it ends the proxy after 5 s, and the sidecar by its envoy.drain, 10 s less than this.
      terminationGracePeriodSeconds: {{ .Values.gateway.terminationGracePeriodSeconds }}
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: istio-proxy
        {{- if not .Values.gateway.api }}
        image: auto
        {{- end }}
        env:
        - name: PINTLE_INGEST_TOKEN
          valueFrom:
            secretKeyRef: {name: pintle-ingest, key: token}
        {{- with .Values.module.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- if .Values.gateway.api }}
        - {name: EXIT_ON_ZERO_ACTIVE_CONNECTIONS, value: "true"}
        - {name: ISTIO_BOOTSTRAP_OVERRIDE, value: /etc/istio/custom-bootstrap/custom_bootstrap.json}
        {{- end }}
        resources:
          {{- if .Values.gateway.api }} # null takes away Istio's own
          {{- mergeOverwrite (dict "limits" (dict "cpu" nil)) .Values.gateway.resources | toYaml | nindent 10 }}
          {{- else }}
          {{- toYaml .Values.gateway.resources | nindent 10 }}
          {{- end }}
        {{- if not .Values.gateway.api }}
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
          readOnlyRootFilesystem: true
          runAsNonRoot: true
        {{- end }}
        {{- if or .Values.gateway.api (eq .Values.module.source "file") }}
        volumeMounts:
        {{- if eq .Values.module.source "file" }}
        - {name: pintle-plugin, mountPath: /var/lib/pintle, readOnly: true}
        {{- end }}
        {{- if .Values.gateway.api }}
        - {name: pintle-bootstrap, mountPath: /etc/istio/custom-bootstrap, readOnly: true}
        {{- end }}
        {{- end }}
      - name: pintle
        image: {{ .Values.sidecar.image }}
        args: [sidecar, -c, /etc/pintle/sidecar.yaml, -log, json{{ if include "pintle.plugins" . }}, -plugins, /etc/pintle/plugins.yaml{{ end }}]
        {{- with .Values.sidecar.env }}
        env:
        {{- toYaml . | nindent 8 }}
        {{- end }}
        ports:
        - {name: pintle-probes, containerPort: 10002}
        # The pod is ready only when its proxy has taken a snapshot. Later failures of the sidecar leave it ready: requests then
        # go on without fresh metrics.
        startupProbe:
          httpGet: {path: /healthz, port: pintle-probes}
          periodSeconds: 1
          failureThreshold: 120
        livenessProbe:
          httpGet: {path: /livez, port: pintle-probes}
          # One that hangs does not drain.
          terminationGracePeriodSeconds: 10
        resources:
          {{- toYaml .Values.sidecar.resources | nindent 10 }}
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
          readOnlyRootFilesystem: true
          runAsNonRoot: true
          runAsUser: 65532
          runAsGroup: 65532
        volumeMounts:
        {{- if .Values.sidecar.kubernetes.pools }}
        - {name: pintle-kubernetes, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
        {{- end }}
        - {name: pintle-config, mountPath: /etc/pintle, readOnly: true}
        - {name: pintle-ingest, mountPath: /run/pintle, readOnly: true}
        {{- with .Values.sidecar.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      volumes:
      {{- if .Values.sidecar.kubernetes.pools }}
      - name: pintle-kubernetes
        projected:
          sources:
          - serviceAccountToken: {path: token, expirationSeconds: 3600}
          - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
          - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
      {{- end }}
      {{- if eq .Values.module.source "file" }}
      - name: pintle-plugin
        image: {reference: {{ .Values.module.image | quote }}, pullPolicy: IfNotPresent}
      {{- end }}
      {{- if .Values.gateway.api }}
      - name: pintle-bootstrap
        configMap: {name: pintle-bootstrap}
      {{- end }}
      - name: pintle-config
        configMap: {name: pintle-sidecar}
      - name: pintle-ingest
        secret: {secretName: pintle-ingest}
      {{- with .Values.sidecar.volumes }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
{{- end }}
