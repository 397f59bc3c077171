package server

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"countd/config"
	"countd/engine"
)

// Options are what a Server is made of.
type Options struct {
	Engine   *engine.Engine
	Config   *config.Config // its bind, port and io-threads are read when Serve begins
	Logger   *slog.Logger   // nil discards
	Version  string         // countd's, for INFO
	Recovery engine.Recovery
}

// Server holds what all sessions share. It is safe for concurrent use.
type Server struct {
	eng      *engine.Engine
	durable  committer // eng, or a test's
	nowMs    func() int64
	cfg      *config.Config
	log      *slog.Logger
	version  string
	recovery engine.Recovery
	started  time.Time
	clients  clientRegistry

	// What sessions look at often, kept in step with cfg by hooks.
	passwordSet atomic.Bool
	maxBulk     atomic.Int64
	queryLimit  atomic.Int64
	outputLimit atomic.Pointer[config.BufferLimit]
	clientLimit atomic.Int64 // maxclients, or fewer where the process may not open so many files

	lastID     atomic.Int64
	connected  atomic.Int64
	looseStats *loopStats // of sessions without a loop
	rates      rates
	saver      saver

	transport transport
	after     func(time.Duration, func()) // time.AfterFunc, or a test's
	loading   sync.WaitGroup              // sessions that are loaded for; only loops add to it
	loads     chan struct{}               // a slot for each session that is being loaded for; see park.go
	// aside is the number of sessions that other goroutines work for (park.go). Loops leave them their
	// processors while they wait.
	aside atomic.Int32

	// allLoops is replaced, never written, when a loop is added.
	allLoops atomic.Pointer[[]*loop]
	mu       struct {
		sync.Mutex
		addrs []string // what Serve listens on
	}
	booted   chan struct{} // closed when Serve listens
	served   chan struct{} // closed when Serve returned
	stopping atomic.Bool
	stopOnce sync.Once
	drains   atomic.Int64 // under way
}

// New returns a server that does not listen yet.
func New(o Options) (*Server, error) {
	srv := newServer(o)
	srv.eng = o.Engine
	srv.durable = o.Engine
	srv.nowMs = o.Engine.NowMs
	o.Engine.OnCommit(srv.wakeLoops)
	srv.setMaxMemory()
	srv.cfg.OnChange(func() error { srv.setMaxMemory(); return nil }, "maxmemory")
	return srv, nil
}

// setMaxMemory carries out maxmemory. Without a log there is no disk for what should leave memory: the
// value is kept, and nothing leaves.
func (srv *Server) setMaxMemory() {
	if err := srv.eng.SetMaxMemory(srv.cfg.Int("maxmemory")); err != nil {
		srv.log.Warn("maxmemory has no effect with appendonly no: there is no store to read keys back from")
	}
}

func newServer(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Config == nil {
		o.Config = config.New()
	}
	srv := &Server{
		cfg: o.Config, log: o.Logger, version: o.Version, recovery: o.Recovery,
		started: time.Now(), looseStats: newLoopStats(),
		booted: make(chan struct{}), served: make(chan struct{}),
		loads: make(chan struct{}, maxLoads),
		after: func(d time.Duration, fn func()) { time.AfterFunc(d, fn) },
	}
	srv.clients.srv = srv
	srv.saver.init()
	srv.transport = newTransport(srv)
	srv.followConfig()
	return srv
}

// followConfig copies the options that sessions look at often, now and whenever they change.
func (srv *Server) followConfig() {
	follow := func(fn func(), names ...string) {
		fn()
		srv.cfg.OnChange(func() error { fn(); return nil }, names...)
	}
	follow(func() { srv.passwordSet.Store(srv.cfg.Value("requirepass") != "") }, "requirepass")
	follow(func() { srv.maxBulk.Store(srv.cfg.Int("proto-max-bulk-len")) }, "proto-max-bulk-len")
	follow(func() { srv.queryLimit.Store(srv.cfg.Int("client-query-buffer-limit")) },
		"client-query-buffer-limit")
	follow(func() {
		limit := srv.cfg.OutputLimit("normal")
		srv.outputLimit.Store(&limit)
	}, "client-output-buffer-limit")
	srv.startMaxClients()
	srv.cfg.OnChange(srv.setMaxClients, "maxclients")
	srv.cfg.OnChange(func() error { return srv.setFsync(srv.cfg.Value("appendfsync")) },
		"appendfsync")
	srv.followHotConfig()
}

func (srv *Server) maxBulkLen() int   { return int(srv.maxBulk.Load()) }
func (srv *Server) maxClients() int64 { return srv.clientLimit.Load() }

// setFsync carries out CONFIG SET appendfsync. Without a log (appendonly no) there is nothing to
// sync; the value is kept, as in Redis.
func (srv *Server) setFsync(value string) error {
	policy := map[string]engine.FsyncPolicy{"always": engine.FsyncAlways,
		"everysec": engine.FsyncEverySec, "no": engine.FsyncNo}[value]
	if srv.durable == nil || srv.durable.Policy() == engine.FsyncOff {
		return nil
	}
	return srv.durable.SetPolicy(policy)
}

// loops are the event loops there are.
func (srv *Server) loops() []*loop {
	if all := srv.allLoops.Load(); all != nil {
		return *all
	}
	return nil
}

// addLoop makes the loop of a poller.
func (srv *Server) addLoop(p poller) *loop {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	l := newLoop(srv, p)
	all := append(append([]*loop(nil), srv.loops()...), l)
	srv.allLoops.Store(&all)
	return l
}

// uptime is the time since the server was made.
func (srv *Server) uptime() time.Duration { return time.Since(srv.started) }
