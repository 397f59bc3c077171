package server

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"

	"countd/config"
	"countd/engine"
)

func (srv *Server) infoServer(w *infoWriter) {
	uptime := int64(srv.uptime().Seconds())
	executable, _ := os.Executable() // as in Redis, empty where it is not known
	w.line("redis_version", redisVersion)
	w.line("countd_version", srv.version)
	w.line("redis_git_sha1", config.Commit())
	w.line("redis_mode", "standalone")
	w.line("os", runtime.GOOS+" "+runtime.GOARCH)
	w.line("arch_bits", strconv.IntSize)
	w.line("go_version", runtime.Version())
	w.line("process_id", os.Getpid())
	w.line("tcp_port", srv.cfg.Int("port"))
	w.line("server_time_usec", time.Now().UnixMicro())
	w.line("clock_ahead_msec", srv.eng.ClockAheadMs())
	w.line("uptime_in_seconds", uptime)
	w.line("uptime_in_days", uptime/86400)
	w.line("executable", executable)
	w.line("io_threads_active", len(srv.loops()) > 1)
}

func (srv *Server) infoClients(w *infoWriter) {
	st := srv.stats()
	w.line("connected_clients", st.connectedClients)
	w.line("cluster_connections", 0)
	w.line("maxclients", st.maxClients)
	w.line("blocked_clients", 0)
	w.line("tracking_clients", 0)
}

func (srv *Server) infoMemory(w *infoWriter) {
	used, rss, peak := usedMemory(), residentBytes(), peakBytes()
	w.bytes("used_memory", used)
	w.bytes("used_memory_rss", rss)
	w.bytes("used_memory_peak", peak)
	w.line("used_memory_dataset", srv.eng.Stats().TableBytes)
	w.line("used_memory_lua", 0)
	w.bytes("maxmemory", srv.eng.MaxMemory())
	w.line("maxmemory_policy", "noeviction")
	w.line("mem_fragmentation_ratio", float64(rss)/float64(max(used, 1)))
	w.line("mem_allocator", "go")
}

// usedMemory is what the Go runtime holds of the system's memory.
func usedMemory() int64 {
	m := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(m)
	return int64(m[0].Value.Uint64() - m[1].Value.Uint64())
}

// residentBytes is the process's resident memory where the system tells it, else 0.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// peakBytes is the most resident memory the process has had.
func peakBytes() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) * 1024
}

func (srv *Server) infoPersistence(w *infoWriter) {
	st, policy := srv.eng.Stats(), srv.eng.Policy()
	w.line("loading", 0)
	w.line("async_loading", 0)
	w.line("rdb_changes_since_last_save", st.Unsaved)
	w.line("rdb_bgsave_in_progress", srv.saver.background.Load())
	w.line("rdb_last_save_time", srv.saver.last.Load())
	w.line("rdb_last_bgsave_status", okOrErr(!srv.saver.failed.Load()))
	w.line("rdb_last_bgsave_time_sec", srv.saver.tookSec.Load())
	w.line("rdb_current_bgsave_time_sec", srv.saver.backgroundSeconds())
	w.line("rdb_saves", srv.saver.saves.Load())
	w.line("aof_enabled", policy != engine.FsyncOff)
	w.line("aof_rewrite_in_progress", st.MergeInProgress)
	w.line("aof_rewrite_scheduled", 0)
	w.line("aof_last_bgrewrite_status", "ok")
	w.line("aof_last_write_status", okOrErr(srv.eng.Err() == nil))
	w.line("appendfsync", policyName(policy))
	w.line("log_tail_bytes", st.LogBytes)
	w.line("log_tail_cap", srv.eng.TailCap())
	w.line("writers_slowed", srv.eng.Slowness() > 0)
	w.line("writers_slowed_msec", srv.stats().slowedNanos/1e6)
	w.line("log_segments", st.LogSegments)
	w.line("log_stalls", st.LogFailover.Stalls)
	w.line("log_switches", st.LogFailover.Switches)
	w.line("log_failed_over", st.LogFailover.Away)
	w.line("store_bytes", st.StoreBytes)
	w.line("flushes", st.Flushes)
	w.line("flushed_images", st.FlushedImages)
	w.line("last_flush_usec", st.LastFlushUs)
	w.line("last_sync_usec", st.LastSyncUs)
	w.line("current_epoch", st.Epoch)
	w.line("written_epoch", st.Written)
	w.line("durable_epoch", st.Durable)
	w.line("merges", st.Merges)
	w.line("warming", st.Warming)
	w.line("warmed_percent", st.WarmedPercent)
	w.line("store_reads", st.Faults+st.Loads)
	w.line("store_reads_in_place", st.Faults)
	w.line("entries_evicted_to_store", st.Evicted)
	w.line("recovered_keys", srv.recovery.Keys)
	w.line("recovery_replayed_images", srv.recovery.ReplayedImages)
	w.line("recovery_msec", srv.recovery.Duration.Milliseconds())
}

func okOrErr(ok bool) string {
	if ok {
		return "ok"
	}
	return "err"
}

// policyName is the policy in the words of appendfsync; off without a log.
func policyName(p engine.FsyncPolicy) string {
	switch p {
	case engine.FsyncAlways:
		return "always"
	case engine.FsyncEverySec:
		return "everysec"
	case engine.FsyncNo:
		return "no"
	}
	return "off"
}

func (srv *Server) infoStats(w *infoWriter) {
	st, est := srv.stats(), srv.eng.Stats()
	w.line("total_connections_received", st.connectionsReceived)
	w.line("total_commands_processed", st.commandsProcessed)
	w.line("instantaneous_ops_per_sec", st.opsPerSec)
	w.line("total_net_input_bytes", st.netInputBytes)
	w.line("total_net_output_bytes", st.netOutputBytes)
	w.line("instantaneous_input_kbps", st.inputKbps)
	w.line("instantaneous_output_kbps", st.outputKbps)
	w.line("rejected_connections", st.connectionsRejected)
	w.line("expired_keys", est.ExpiredKeys)
	w.line("evicted_keys", 0)
	w.line("keyspace_hits", est.KeyspaceHits)
	w.line("keyspace_misses", est.KeyspaceMisses)
	w.line("pubsub_channels", 0)
	w.line("pubsub_patterns", 0)
	w.line("total_error_replies", st.errorReplies)
	w.line("total_reads_processed", st.reads)
	w.line("total_writes_processed", st.writes)
	w.line("client_query_buffer_limit_disconnections", st.queryLimitCloses)
	w.line("client_output_buffer_limit_disconnections", st.outputLimitCloses)
}

func (srv *Server) infoReplication(w *infoWriter) {
	w.line("role", "master")
	w.line("connected_slaves", 0)
}

func (srv *Server) infoCPU(w *infoWriter) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return
	}
	seconds := func(t syscall.Timeval) string {
		return fmt.Sprintf("%.6f", float64(t.Nano())/1e9)
	}
	w.line("used_cpu_sys", seconds(usage.Stime))
	w.line("used_cpu_user", seconds(usage.Utime))
}

func (srv *Server) infoCommandStats(w *infoWriter) {
	for _, c := range srv.commandStats() {
		perCall := 0.0
		if c.calls > 0 {
			perCall = float64(c.usec) / float64(c.calls)
		}
		w.line("cmdstat_"+c.cmd.name, fmt.Sprintf(
			"calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			c.calls, c.usec, perCall, c.rejected, c.failed))
	}
}

func (srv *Server) infoCluster(w *infoWriter) { w.line("cluster_enabled", 0) }

func (srv *Server) infoKeyspace(w *infoWriter) {
	st := srv.eng.Stats()
	for db, keys := range st.Keys {
		if keys > 0 {
			w.line("db"+strconv.Itoa(db), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=%d",
				keys, st.Expires[db], st.AvgTTLMs[db]))
		}
	}
}
