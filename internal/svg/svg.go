// Package svg writes the plots of the benchmarks.
package svg

import (
	"fmt"
	"html"
	"strings"
)

// Drawing is a picture on white. Measures are in pixels, y grows downwards. Attributes, such as `fill="#555"`, are
// written as they are.
type Drawing struct {
	width, height float64
	shapes        strings.Builder
}

// New makes an empty picture.
func New(width, height float64) *Drawing { return &Drawing{width: width, height: height} }

// Text writes one line, with its base at y. It may hold any characters.
func (d *Drawing) Text(x, y float64, text string, attributes ...string) {
	fmt.Fprintf(&d.shapes, `<text x="%.1f" y="%.1f"%s>%s</text>`+"\n", x, y, join(attributes), html.EscapeString(text))
}

// Rectangle draws a rectangle from its left upper corner.
func (d *Drawing) Rectangle(x, y, width, height float64, attributes ...string) {
	fmt.Fprintf(&d.shapes, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"%s/>`+"\n", x, y, width, height,
		join(attributes))
}

// Circle draws a circle around a point.
func (d *Drawing) Circle(x, y, radius float64, attributes ...string) {
	fmt.Fprintf(&d.shapes, `<circle cx="%.1f" cy="%.1f" r="%.1f"%s/>`+"\n", x, y, radius, join(attributes))
}

// Path draws what the commands of an SVG path say.
func (d *Drawing) Path(commands string, attributes ...string) {
	fmt.Fprintf(&d.shapes, `<path d="%s"%s/>`+"\n", commands, join(attributes))
}

// String is the whole file.
func (d *Drawing) String() string {
	return fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[1]g" height="%[2]g" `+
			`font-family="sans-serif" font-size="12" fill="#222">`+"\n"+
			`<rect width="100%%" height="100%%" fill="#fff"/>`+"\n%[3]s</svg>\n",
		d.width, d.height, d.shapes.String())
}

func join(attributes []string) string {
	if len(attributes) == 0 {
		return ""
	}
	return " " + strings.Join(attributes, " ")
}
