package replay

import "io"

func (d *Document) writeHTML(w io.Writer) error { return d.writeText(w) }
