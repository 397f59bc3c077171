//go:build !linux || gnet

package server

import (
	"fmt"
	"log/slog"
)

// gnetLog passes what gnet logs on. Its Infof is at start and stop only, and says nothing that we
// do not say.
type gnetLog struct{ log *slog.Logger }

func (g gnetLog) Debugf(format string, a ...any) { g.log.Debug("gnet: " + fmt.Sprintf(format, a...)) }
func (g gnetLog) Infof(format string, a ...any)  { g.log.Debug("gnet: " + fmt.Sprintf(format, a...)) }
func (g gnetLog) Warnf(format string, a ...any)  { g.log.Warn("gnet: " + fmt.Sprintf(format, a...)) }
func (g gnetLog) Errorf(format string, a ...any) {
	// gnet's logging.Error logs nil errors of listeners it closed, too.
	g.log.Error("gnet: " + fmt.Sprintf(format, a...))
}
func (g gnetLog) Fatalf(format string, a ...any) { g.log.Error("gnet: " + fmt.Sprintf(format, a...)) }
