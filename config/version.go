package config

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version is countd's version number.
const Version = "0.1.0"

// VersionLine is what --version prints, such as "countd 0.1.0 (go1.26.0, commit 1a2b3c4)". The
// commit is there where the build recorded one.
func VersionLine() string {
	commit := Commit()
	if commit == "" {
		return fmt.Sprintf("countd %s (%s)", Version, runtime.Version())
	}
	return fmt.Sprintf("countd %s (%s, commit %s)", Version, runtime.Version(), commit)
}

// Commit is the commit the binary was built from, shortened, with "+" where the tree had changes;
// "" where the build did not record it.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(len(s.Value), 8)]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+"
			}
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}
