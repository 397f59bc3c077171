// Package soak keeps a countd under load for a long time, kills it again and again, and compares
// every value it has with what it must be.
//
// The nouns:
//
//   - A writer owns one connection and a share of the keys, which nobody else writes. So it knows what
//     every reply must be and compares each at once; what a key holds is a state in its table.
//   - A reply that never came leaves open whether its command was executed. Under everysec so does a
//     crash, for the commands of the last second. Those commands are the doubt of a writer, in the
//     order in which they were sent. A crash goes back to one instant, so the keys that survive must
//     all be those of one and the same place in it: the cut.
//   - A key that expires may be there or not for as long as the writer cannot know when the server
//     read its clock. After that it must be gone, and never come back.
//   - The hot key is incremented by all writers. Each of its values is given out once, and after a crash
//     it is what the cuts of all writers come to.
//   - A cycle is load, kill -9, restart, and the comparison of all keys and of DBSIZE.
//
// Everything is read through the protocol. Nothing here sleeps on luck: what must be true later is
// asked for until it is, with a bound.
package soak
