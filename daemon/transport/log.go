package transport

import (
	"fmt"
	"log/slog"
)

// natsLog gives nats-server's words to ours, as details: what clients do wrong must not fill the log.
type natsLog struct{ log *slog.Logger }

func (l natsLog) Fatalf(format string, args ...any)  { l.log.Error(words(format, args)) }
func (l natsLog) Errorf(format string, args ...any)  { l.log.Debug(words(format, args)) }
func (l natsLog) Warnf(format string, args ...any)   { l.log.Debug(words(format, args)) }
func (l natsLog) Noticef(format string, args ...any) { l.log.Debug(words(format, args)) }
func (l natsLog) Debugf(format string, args ...any)  { l.log.Debug(words(format, args)) }
func (l natsLog) Tracef(format string, args ...any)  { l.log.Debug(words(format, args)) }

func words(format string, args []any) string { return "nats-server: " + fmt.Sprintf(format, args...) }
