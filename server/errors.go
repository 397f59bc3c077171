package server

import (
	"errors"
	"fmt"
	"strings"

	"countd/engine"
)

// Error replies, without the leading '-', word for word as Redis 7.0.15 sends them.
const (
	errSyntax     = "ERR syntax error"
	errWrongType  = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errNotInteger = "ERR value is not an integer or out of range"
	errNotFloat   = "ERR value is not a valid float"
	errOverflow   = "ERR increment or decrement would overflow"
	errDecrement  = "ERR decrement would overflow"
	errNaN        = "ERR increment would produce NaN or Infinity"
	errTooLong    = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	errNotHLL     = "WRONGTYPE Key is not a valid HyperLogLog string value."
	errCorruptHLL = "INVALIDOBJ Corrupted HLL object detected"
	errDBIndex    = "ERR DB index is out of range"
	errNoKey      = "ERR no such key"
	errBusyKey    = "BUSYKEY Target key name already exists."
	errSameObject = "ERR source and destination objects are the same"
	errCursor     = "ERR invalid cursor"
	errWrongPass  = "WRONGPASS invalid username-password pair or user is disabled."
	errNoPassword = "ERR AUTH <password> called without any password configured for the default " +
		"user. Are you sure your configuration is correct?"
	errHelloNoAuth = "NOAUTH HELLO must be called with the client already authenticated, " +
		"otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client " +
		"and select the RESP protocol version at the same time"
	errNoProto    = "NOPROTO unsupported protocol version"
	errClientName = "ERR Client names cannot contain spaces, newlines or special characters."
)

// Error replies that Redis has not, or words differently.
const (
	errSyncFailed = "MISCONF The log could not be synced to disk, so countd no longer accepts " +
		"writes: see its log for the cause, then restart it."
	errDiskFull   = "MISCONF The disk is full: countd accepts no writes until there is space."
	errLogBlocked = "MISCONF The log cannot be written: countd accepts no writes until it can. See " +
		"its log for the cause."
	errStoreRead   = "IOERR The key could not be read from disk; nothing was changed. See countd's log."
	errLeavesRange = "ERR increment would leave the range of the counter's contract"
	errOutOfRange  = "ERR value is not an integer in the range of the counter's contract"
	errTallied     = "ERR the counter's contract has a TALLY, which INCRBYFLOAT cannot keep"
	errClosed      = "ERR countd is shutting down"
	errNoLog       = "ERR There is no log to make a backup of: countd runs with appendonly no."
)

// engineErrors maps the engine's sentinels to replies. The common ones come first.
var engineErrors = []struct {
	err  error
	text string
}{
	{engine.ErrWrongType, errWrongType},
	{engine.ErrNotInteger, errNotInteger},
	{engine.ErrOverflow, errOverflow},
	{engine.ErrLeavesRange, errLeavesRange},
	{engine.ErrOutOfRange, errOutOfRange},
	{engine.ErrTallied, errTallied},
	{engine.ErrNotFloat, errNotFloat},
	{engine.ErrNaNOrInf, errNaN},
	{engine.ErrNotHLL, errNotHLL},
	{engine.ErrCorruptHLL, errCorruptHLL},
	{engine.ErrTooLong, errTooLong},
	{engine.ErrNoKey, errNoKey},
	{engine.ErrDiskFull, errDiskFull},
	{engine.ErrLogBlocked, errLogBlocked},
	{engine.ErrStoreRead, errStoreRead},
	{engine.ErrSyncFailed, errSyncFailed},
	{engine.ErrClosed, errClosed},
	{engine.ErrNoLog, errNoLog},
}

// engineErrorText is the reply to an error of the engine.
func engineErrorText(err error) string {
	for i := range engineErrors {
		if errors.Is(err, engineErrors[i].err) {
			return engineErrors[i].text
		}
	}
	var refused *engine.ContractError
	if errors.As(err, &refused) {
		return "ERR " + refused.Reason
	}
	return "ERR " + oneLine(err.Error())
}

// fail replies with the text of an error of the engine.
func (s *Session) fail(err error) { s.err(engineErrorText(err)) }

// errf replies with a formatted error, made safe to print on one line.
func (s *Session) errf(format string, a ...any) { s.err(oneLine(fmt.Sprintf(format, a...))) }

// errExpireTime replies that an expire time of the command args[0] is out of range.
func (s *Session) errExpireTime(args [][]byte) {
	s.err("ERR invalid expire time in '" + strings.ToLower(string(args[0])) + "' command")
}

// oneLine drops line ends at both ends of text and makes spaces of those within, as error replies
// must not hold any.
func oneLine(text string) string {
	return lineEnds.Replace(strings.Trim(text, "\r\n"))
}

var lineEnds = strings.NewReplacer("\r", " ", "\n", " ")

// cString is what C sees of an argument: the bytes before the first zero. Redis compares options
// and prints arguments in this way.
func cString(arg []byte) []byte {
	for i, b := range arg {
		if b == 0 {
			return arg[:i]
		}
	}
	return arg
}

// unknownCommand is the reply where resolve found nothing: it quotes up to 128 bytes of the name
// and about as many of the arguments.
func unknownCommand(args [][]byte) string {
	name := cString(args[0])
	if c := lookup(args[0]); c != nil {
		return oneLine(fmt.Sprintf("ERR unknown subcommand '%s'. Try %s HELP.",
			cutBytes(cString(args[1]), 128), strings.ToUpper(string(name))))
	}
	var quoted []byte
	for _, arg := range args[1:] {
		if len(quoted) >= 128 {
			break
		}
		arg = cutBytes(cString(arg), 128-len(quoted))
		quoted = append(append(append(quoted, '\''), arg...), "' "...)
	}
	return lineEnds.Replace(fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s",
		cutBytes(name, 128), quoted))
}

func cutBytes(b []byte, n int) []byte { return b[:min(n, len(b))] }
