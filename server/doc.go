// Package server speaks the Redis protocol: it turns the bytes of clients into calls of the engine
// and the results into replies, word for word those of Redis 7.0.15.
//
// The nouns:
//
//   - A Server is what all connections share: configuration, command table, loops.
//   - A Session is one client's conversation. It parses, dispatches and appends replies; it owns no
//     socket, so transports, tests and fuzzers feed it alike.
//   - A loop is one event loop with its sessions. It owns their sockets and decides when replies
//     leave.
//   - A command is a row of the command table; everything about commands comes from the rows.
//
// The way of an INCRBY: the poller of a loop (transport_epoll.go) reads a socket; loop.received feeds
// the bytes to the session; Session.turn splits off up to 16 commands without copying, fetches what
// their keys need from memory, adds a run of increments of one key at one time (lookahead.go), and
// gives other commands to dispatch, which finds the row, once per run of equal commands, and calls its
// handler; that calls the engine and appends a reply. When the loop has read all that was ready,
// loop.endTurn writes each session's replies with one system call. Where the
// session saw a key whose durability is always it holds them until a commit covers that (held.go).
//
// Invariants:
//
//   - Replies of a connection leave in the order of its commands, and none leaves before what it
//     tells is as durable as promised.
//   - Work per connection and turn is bounded (maxTurnCommands, maxTurnReplyBytes, maxTurnTime), so
//     that a deep pipeline does not starve the others.
//   - Memory per connection is bounded: input by client-query-buffer-limit; output by running no
//     command while the socket does not take the replies of those before.
//   - A client that ends its sending gets every reply it is owed.
//   - The hot path (INCRBY and GET in a pipeline) allocates nothing.
//
// Differences from Redis: a command counts as a whole against client-query-buffer-limit; a line
// without an end is an error at 64 KiB exactly, not at the first read beyond.
package server
