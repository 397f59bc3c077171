package server

import (
	"fmt"
	"strings"
)

// An infoSection is one headline of INFO with its lines.
type infoSection struct {
	title   string
	onAsk   bool // printed only where asked for by name or by all
	collect func(srv *Server, w *infoWriter)
}

// infoSections are in the order of printing.
func infoSections() []infoSection {
	return []infoSection{
		{title: "Server", collect: (*Server).infoServer},
		{title: "Clients", collect: (*Server).infoClients},
		{title: "Memory", collect: (*Server).infoMemory},
		{title: "Persistence", collect: (*Server).infoPersistence},
		{title: "Stats", collect: (*Server).infoStats},
		{title: "Hotkeys", collect: (*Server).infoHotkeys},
		{title: "Replication", collect: (*Server).infoReplication},
		{title: "CPU", collect: (*Server).infoCPU},
		{title: "Modules", collect: func(*Server, *infoWriter) {}},
		{title: "Commandstats", onAsk: true, collect: (*Server).infoCommandStats},
		{title: "Cluster", collect: (*Server).infoCluster},
		{title: "Keyspace", collect: (*Server).infoKeyspace},
	}
}

// An infoWriter collects the text of INFO.
type infoWriter struct{ text strings.Builder }

func (w *infoWriter) section(title string) {
	if w.text.Len() > 0 {
		w.text.WriteString("\r\n")
	}
	w.text.WriteString("# " + title + "\r\n")
}

// line writes one field. Floats have two decimals.
func (w *infoWriter) line(name string, value any) {
	switch v := value.(type) {
	case float64:
		fmt.Fprintf(&w.text, "%s:%.2f\r\n", name, v)
	case bool:
		n := 0
		if v {
			n = 1
		}
		fmt.Fprintf(&w.text, "%s:%d\r\n", name, n)
	default:
		fmt.Fprintf(&w.text, "%s:%v\r\n", name, v)
	}
}

// bytes writes a number of bytes, and once more in a form for people.
func (w *infoWriter) bytes(name string, n int64) {
	w.line(name, n)
	w.line(name+"_human", humanBytes(n))
}

func humanBytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%dB", n)
	}
	f := float64(n)
	for _, unit := range "KMGT" {
		if f /= 1024; f < 1024 || unit == 'T' {
			return fmt.Sprintf("%.2f%c", f, unit)
		}
	}
	return ""
}

func cmdInfo(s *Session, args [][]byte) {
	s.verbatim(s.srv.info(args[1:]), "txt")
}

// info is the text of the sections that names ask for; no names ask for the usual ones.
func (srv *Server) info(names [][]byte) string {
	usual, all := len(names) == 0, false
	for _, name := range names {
		usual = usual || option(name, "default")
		all = all || option(name, "all") || option(name, "everything")
	}
	var w infoWriter
	for _, section := range infoSections() {
		ask := all || usual && !section.onAsk
		for _, name := range names {
			ask = ask || option(name, strings.ToLower(section.title))
		}
		if ask {
			w.section(section.title)
			section.collect(srv, &w)
		}
	}
	return w.text.String()
}
