package state

// ends are those of a list that orders entries of a table by their last use, through older and newer; 0 for none.
type ends struct{ newest, oldest uint32 }

// touch makes an entry of the list its newest one.
func (t *table) touch(l *ends, e uint32) {
	if l.newest == e {
		return
	}
	t.unlink(l, e)
	t.push(l, e)
}

// push adds an entry that is in no list as the newest one.
func (t *table) push(l *ends, e uint32) {
	n := t.at(e)
	n.older, n.newer = l.newest, 0
	if l.newest != 0 {
		t.at(l.newest).newer = e
	} else {
		l.oldest = e
	}
	l.newest = e
}

// unlink takes an entry out of the list.
func (t *table) unlink(l *ends, e uint32) {
	o := t.at(e)
	if o.newer != 0 {
		t.at(o.newer).older = o.older
	} else {
		l.newest = o.older
	}
	if o.older != 0 {
		t.at(o.older).newer = o.newer
	} else {
		l.oldest = o.newer
	}
}
