package state

func (p *Prefix) touch(l *recency, e uint32) {
	if l.newest == e {
		return
	}
	p.unlink(l, e)
	p.push(l, e)
}

func (p *Prefix) push(l *recency, e uint32) {
	n := p.table.at(e)
	n.older, n.newer = l.newest, 0
	if l.newest != 0 {
		p.table.at(l.newest).newer = e
	} else {
		l.oldest = e
	}
	l.newest = e
}

func (p *Prefix) unlink(l *recency, e uint32) {
	o := p.table.at(e)
	if o.newer != 0 {
		p.table.at(o.newer).older = o.older
	} else {
		l.newest = o.older
	}
	if o.older != 0 {
		p.table.at(o.older).newer = o.newer
	} else {
		l.oldest = o.newer
	}
}
