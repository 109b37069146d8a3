package scoring

// Salter is a plug-in that says by which salt the servers are to keep a request's prompt apart in their caches. It
// takes part by being declared; of several the first does.
type Salter interface {
	// AppendSalt appends the salt of a request, whose body has been read, to dst: no character of it needs to be
	// escaped in JSON.
	AppendSalt(dst []byte, r *Request) []byte
	// Lacks is a variable that the environment does not have and without which the salts are not secret, empty for
	// none.
	Lacks() string
}

// Salts reports whether requests get salts of the plan's own.
func (p *Plan) Salts() bool { return p.salter != nil }

// LacksSecret is the variable that the environment does not have and without which the plan's salts are not secret,
// empty for none.
func (p *Plan) LacksSecret() string {
	if p.salter == nil {
		return ""
	}
	return p.salter.Lacks()
}

// Salt gives the request of c, whose body has been read, the plan's salt, if it has any. It is to be called once for a
// body, before the decision: what is known of prompts goes by their salts.
func (p *Plan) Salt(c *Cycle) {
	if p.salter == nil {
		return
	}
	c.salt = p.salter.AppendSalt(c.salt[:0], &c.Request)
	c.Request.Body.SetCacheSalt(c.salt)
}

// addSalter activates a plug-in that gives salts.
func (c *compiler) addSalter(d *declared, s Salter) {
	if c.plan.salter != nil {
		c.plan.warnings = append(c.plan.warnings, d.name+": is off, as another "+d.kind+" is declared before it")
		return
	}
	c.plan.salter = s
}
