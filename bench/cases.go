package main

import (
	"sort"
	"strconv"
	"strings"
	"time"
)

// A case of a comparison is written kind-pN: what is asked for, and the pipeline.
var caseKinds = map[string]func(*options){
	"hot":     func(o *options) { o.mix, o.keys = "INCRBY", "single" },
	"unif":    func(o *options) { o.mix, o.keys = "INCRBY", "uniform" },
	"zipf":    func(o *options) { o.mix, o.keys = "INCRBY", "zipf" },
	"gethot":  func(o *options) { o.mix, o.keys = "GET", "single" },
	"get":     func(o *options) { o.mix, o.keys = "GET", "uniform" },
	"pfadd":   func(o *options) { o.mix, o.keys = "PFADD", "single" },
	"pfcount": func(o *options) { o.mix, o.keys = "PFCOUNT", "single" },
	"mixed":   func(o *options) { o.mix, o.keys = "INCRBY=80,GET=15,PFADD=5", "zipf" },
}

func caseNames() string {
	var names []string
	for name := range caseKinds {
		names = append(names, name)
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}

// caseOptions are base with what the case says.
func caseOptions(name string, base options) (options, error) {
	kind, depth, _ := strings.Cut(name, "-p")
	set, ok := caseKinds[kind]
	pipeline, err := strconv.Atoi(depth)
	if !ok || err != nil {
		return base, usagef("--cases: '%s' is not KIND-pPIPELINE, with a KIND of %s", name, caseNames())
	}
	set(&base)
	base.pipeline = pipeline
	return base, base.check()
}

// fillOptions are a load that writes every counter of the key space once, so that the cases meet
// keys that are there.
func fillOptions(base options) options {
	base.mix, base.keys, base.pipeline, base.conns = "INCRBY", "seq", 64, 16
	base.requests, base.warmup = int64(base.keyspace), time.Duration(0)
	return base
}

// modes are the durabilities to compare under, as options of both servers.
var modes = map[string][]string{
	"none":     {"--save", "", "--appendonly", "no"},
	"everysec": {"--save", "", "--appendonly", "yes", "--appendfsync", "everysec"},
	"always":   {"--save", "", "--appendonly", "yes", "--appendfsync", "always"},
}
