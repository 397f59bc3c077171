package server

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// A clientInfo is what CLIENT LIST tells of a connection: a copy, as of the end of its last turn.
type clientInfo struct {
	id                    int64
	addr, laddr           string
	fd                    int
	name, libName, libVer string
	createdMs, lastMs     int64
	db                    int
	cmd                   *command // the last; nil where that was unknown or there was none
	resp3                 bool
	closing               bool // closes once its replies have left
	queryBytes            int  // input not yet run
	queryFree             int  // room left in the query buffer
	outCap, outBytes      int  // the reply buffer and what is in it
	unsentBytes           int  // replies the socket did not take
}

// published is the part of a session that other goroutines read. The session's loop writes mu.info
// at the end of each turn; killed is set by whoever kills it, for the loop to close it.
type published struct {
	mu struct {
		sync.Mutex
		info clientInfo
	}
	killed atomic.Bool
}

// user and typ are the same for all: countd has one user, and neither replicas nor subscribers.
func (*clientInfo) user() string { return "default" }
func (*clientInfo) typ() string  { return "normal" }

// baseClientBytes is about what a session takes beside its buffers.
const baseClientBytes = 2048

// appendLine appends the line of CLIENT LIST, without a line end.
func (c *clientInfo) appendLine(b []byte, nowMs int64) []byte {
	num := func(name string, n int64) {
		b = strconv.AppendInt(append(b, name...), n, 10)
	}
	str := func(name, s string) { b = append(append(b, name...), s...) }

	num("id=", c.id)
	str(" addr=", c.addr)
	str(" laddr=", c.laddr)
	num(" fd=", int64(c.fd))
	str(" name=", c.name)
	num(" age=", max(0, nowMs-c.createdMs)/1000)
	num(" idle=", max(0, nowMs-c.lastMs)/1000)
	str(" flags=", c.flags())
	num(" db=", int64(c.db))
	str(" sub=0 psub=0 ssub=0 multi=-1", "")
	num(" qbuf=", int64(c.queryBytes))
	num(" qbuf-free=", int64(c.queryFree))
	str(" argv-mem=0 multi-mem=0", "")
	num(" rbs=", int64(c.outCap))
	num(" rbp=", int64(c.outBytes))
	num(" obl=", int64(c.outBytes))
	unsent, events := int64(c.unsentBytes), "r"
	if unsent > 0 {
		events = "rw"
	}
	num(" oll=", min(unsent, 1))
	num(" omem=", unsent)
	num(" tot-mem=", c.memory())
	str(" events=", events)
	str(" cmd=", c.cmdName())
	str(" user=", c.user())
	str(" redir=-1 resp=", map[bool]string{false: "2", true: "3"}[c.resp3])
	return b
}

func (c *clientInfo) flags() string {
	if c.closing {
		return "c"
	}
	return "N"
}

func (c *clientInfo) cmdName() string {
	if c.cmd == nil {
		return "NULL"
	}
	return c.cmd.name
}

// memory is about what the connection takes in all.
func (c *clientInfo) memory() int64 {
	return int64(baseClientBytes + c.queryBytes + c.queryFree + c.outCap + c.unsentBytes)
}

// publish shows others the session as it is now.
func (s *Session) publish() {
	s.pub.mu.Lock()
	s.fill(&s.pub.mu.info)
	s.pub.mu.Unlock()
}

func (s *Session) fill(c *clientInfo) {
	c.name, c.libName, c.libVer = s.name, s.libName, s.libVer
	c.lastMs = s.lastMs
	c.db = s.op.DB
	c.cmd = s.cur.cmd
	c.resp3 = s.resp3
	c.closing = s.closeAfterReply
	c.queryBytes = s.pendingInput()
	c.queryFree = cap(s.qbuf) - len(s.qbuf)
	c.outCap, c.outBytes = cap(s.out), len(s.out)
	c.unsentBytes = s.unsentBytes()
}

// info is the session's own line: CLIENT INFO.
func (s *Session) info() clientInfo {
	s.publish()
	return s.pub.mu.info
}

// A clientRegistry is all connections of a server, whichever loop they belong to.
type clientRegistry struct{ srv *Server }

// all returns a copy of every connection's info, oldest first. self is the session that asks, in
// its own loop; nil where none does. Connections that were killed are not among them.
func (r clientRegistry) all(self *Session) []clientInfo {
	if self != nil {
		if self.loop != nil {
			self.loop.publishAll()
		}
		self.publish()
	}
	var infos []clientInfo
	for _, l := range r.srv.loops() {
		l.mu.Lock()
		for _, s := range l.mu.sessions {
			if !s.pub.killed.Load() {
				s.pub.mu.Lock()
				infos = append(infos, s.pub.mu.info)
				s.pub.mu.Unlock()
			}
		}
		l.mu.Unlock()
	}
	slices.SortFunc(infos, func(a, b clientInfo) int { return int(a.id - b.id) })
	return infos
}

// kill closes a connection and reports whether it was there. self, the session that asks, closes
// after its replies have left; others run no further command: their loop closes them.
func (r clientRegistry) kill(self *Session, id int64) bool {
	if self != nil && self.id == id {
		self.closeAfterReply = true
		return true
	}
	for _, l := range r.srv.loops() {
		l.mu.Lock()
		s := l.mu.sessions[id]
		l.mu.Unlock()
		if s == nil {
			continue
		}
		first := !s.pub.killed.Swap(true)
		if first {
			l.poller.later(func() { l.closeID(id) })
		}
		return first
	}
	return false
}
