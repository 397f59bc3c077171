package server

// infoHotkeys tells of the detector of hot keys. The counts are since the start or CONFIG RESETSTAT.
// hotkeys_detector_usec is what its samples and its ticks took, by samples of their own that are timed;
// hotkeys_detector_cpu_percent is that of one core.
func (srv *Server) infoHotkeys(w *infoWriter) {
	st := srv.eng.HotStats()
	d, cfg := &st.Detector, &st.Config
	w.line("hotkeys_enabled", !cfg.Off)
	w.line("hotkeys_promoted", st.Promoted)
	w.line("hotkeys_promotions", st.Promotions)
	w.line("hotkeys_demotions", st.Demotions)
	w.line("hotkeys_tracked", d.Tracked)
	w.line("hotkeys_commands_per_sec", int64(st.CommandRate))
	w.line("hotkeys_commands", d.Commands)
	w.line("hotkeys_samples", d.Samples)
	w.line("hotkeys_ticks", d.Ticks)
	w.line("hotkeys_detector_usec", (d.SampleTime + d.TickTime).Microseconds())
	w.line("hotkeys_detector_cpu_percent", 100*st.CostShare())
	w.line("hotkeys_promote_rate", int64(cfg.PromoteRate))
	w.line("hotkeys_demote_rate", int64(cfg.DemoteRate))
	w.line("hotkeys_share_permille", int64(1000*cfg.Share+0.5))
	w.line("hotkeys_hold_msec", cfg.Hold.Milliseconds())
	w.line("hotkeys_window_msec", cfg.Window.Milliseconds())
	w.line("hotkeys_tick_msec", cfg.Tick.Milliseconds())
	w.line("hotkeys_max", cfg.MaxHot)
}
