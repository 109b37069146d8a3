package svg

import (
	"encoding/xml"
	"testing"
)

func TestDrawing(t *testing.T) {
	d := New(100, 50.5)
	d.Text(1, 2, `a < "b" & c`, `fill="#555"`)
	d.Rectangle(3, 4, 5, 6)
	d.Circle(7, 8, 9, `fill="red"`, `stroke="blue"`)
	d.Path("M1 1h2")
	var got struct {
		XMLName xml.Name
		ViewBox string `xml:"viewBox,attr"`
		Text    struct {
			Text string `xml:",chardata"`
			Fill string `xml:"fill,attr"`
		} `xml:"text"`
		Rectangles []struct {
			X string `xml:"x,attr"`
		} `xml:"rect"`
		Circle struct {
			Stroke string `xml:"stroke,attr"`
		} `xml:"circle"`
		Path struct {
			D string `xml:"d,attr"`
		} `xml:"path"`
	}
	if err := xml.Unmarshal([]byte(d.String()), &got); err != nil {
		t.Fatalf("%v in\n%s", err, d)
	}
	if got.XMLName.Space != "http://www.w3.org/2000/svg" || got.ViewBox != "0 0 100 50.5" {
		t.Errorf("got the root %v with the view %q", got.XMLName, got.ViewBox)
	}
	if got.Text.Text != `a < "b" & c` || got.Text.Fill != "#555" {
		t.Errorf("got the text %+v", got.Text)
	}
	if len(got.Rectangles) != 2 || got.Rectangles[1].X != "3.0" || got.Circle.Stroke != "blue" ||
		got.Path.D != "M1 1h2" {
		t.Errorf("got the shapes %+v", got)
	}
}
