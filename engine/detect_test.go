package engine

import (
	"testing"
	"time"
)

// TestNewSettingsNeedNotWaitForTheOldTick: a detector that looks once an hour looks at once more
// often when it is told to.
func TestNewSettingsNeedNotWaitForTheOldTick(t *testing.T) {
	cfg := *quietDetector()
	e, _, err := Open(Options{Hot: &cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	cfg.Tick, cfg.Window = time.Millisecond, 64*time.Millisecond
	if err := e.ConfigureHot(cfg); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for e.HotStats().Detector.Ticks == 0 {
		if time.Now().After(deadline) {
			t.Fatal("no tick")
		}
		time.Sleep(time.Millisecond)
	}
	cfg.DemoteRate = 2 * cfg.PromoteRate
	if err := e.ConfigureHot(cfg); err == nil || e.HotStats().Config == cfg {
		t.Errorf("settings that do not go together: %v", err)
	}
}

// TestResetStatsBeginsTheDetectorsCountsAnew, and leaves what is not a count.
func TestResetStatsBeginsTheDetectorsCountsAnew(t *testing.T) {
	cfg := *quietDetector() // the ticks are the test's
	cfg.PromoteRate, cfg.DemoteRate, cfg.Share, cfg.Hold = 10, 5, 0, 0
	e, _, err := Open(Options{Hot: &cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	op := Op{Writer: e.NewWriter()}
	e.detectNow(0)
	for range 20 * 3600 {
		if _, err := e.IncrBy(&op, []byte("n"), 1); err != nil {
			t.Fatal(err)
		}
	}
	e.detectNow(time.Hour)
	s := e.HotStats()
	if s.Promoted != 1 || s.Promotions != 1 || s.Detector.Samples == 0 || s.Detector.Ticks != 2 ||
		s.Detector.Commands == 0 || s.CostShare() <= 0 {
		t.Errorf("before: %+v", s)
	}
	e.ResetStats()
	s = e.HotStats()
	if s.Promoted != 1 || s.Detector.Tracked != 1 || s.CommandRate == 0 || s.Promotions != 0 ||
		s.Detector.Samples != 0 || s.Detector.Ticks != 0 || s.Detector.Commands != 0 {
		t.Errorf("after: %+v", s)
	}
	e.detectNow(3 * time.Hour)
	if s = e.HotStats(); s.Promoted != 0 || s.Demotions != 1 || s.Detector.Ticks != 1 {
		t.Errorf("cooled: %+v", s)
	}
}
