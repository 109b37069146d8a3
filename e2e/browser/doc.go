// Package browser looks at the sidecar's status page with a real browser, headless Chromium. Run it with make
// e2e-browser; with SCREENSHOT=FILE it leaves a picture there.
package browser
