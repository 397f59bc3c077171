package soak

import (
	"fmt"

	"countd/bench/resp"
)

// millis is a time since the soak began, in milliseconds: 49 days fit.
type millis uint32

// clockSlack is how far the server's clock, of the system and as of the beginning of its turn, may be
// from the writer's, which never jumps.
const clockSlack millis = 100

// state is what a key holds.
type state struct {
	value int64 // a counter's value, or how many elements a sketch has; 0: there is no such key
	// It expires between from and by, or never where they are 0.
	from, by millis
}

func (s state) String() string {
	switch {
	case s.value == 0:
		return "nil"
	case s.by == 0:
		return fmt.Sprint(s.value)
	}
	return fmt.Sprintf("%d until %.3f s", s.value, float64(s.by)/1e3)
}

// presence says whether a key is there.
type presence uint8

const (
	gone presence = iota
	maybe
	there
)

// at is whether the key is there for a command that is executed between from and by.
func (s state) at(from, by millis) presence {
	switch {
	case s.value == 0:
		return gone
	case s.by == 0 || by+clockSlack < s.from:
		return there
	case from > s.by+clockSlack:
		return gone
	}
	return maybe
}

// fits says whether a read between from and by may find value, 0 for no such key.
func (s state) fits(value int64, from, by millis) bool {
	p := s.at(from, by)
	return value == s.value && p != gone || value == 0 && p != there
}

// opKind is a command.
type opKind uint8

const (
	opIncr opKind = iota
	opGet
	opSet // with a time to live
	opDel
	opPFAdd
	opPFCount
	opHot // increments the hot key by 1
	opKinds
)

// hotKey stands for the key that all writers increment.
const hotKey = ^uint32(0)

// op is a command of a writer.
type op struct {
	kind opKind
	key  uint32 // in the writer's table
	ttl  millis
	arg  int64 // the increment, the value, the number of the element
}

// apply executes o on a key that is there in state s, or not there, between from and by: what it holds
// then and what the reply is. Not for opHot.
func (o op) apply(s state, isThere bool, from, by millis) (state, resp.Reply) {
	if !isThere {
		s = state{}
	}
	switch o.kind {
	case opIncr:
		s.value += o.arg
		return s, resp.Integer(s.value)
	case opSet:
		return state{o.arg, from + o.ttl, by + o.ttl}, resp.OK
	case opDel:
		if isThere {
			return state{}, resp.Integer(1)
		}
		return state{}, resp.Integer(0)
	case opPFAdd: // elements come in the order of their numbers
		if o.arg == s.value {
			s.value++
			return s, resp.Integer(1)
		}
		return s, resp.Integer(0)
	case opPFCount:
		return s, resp.Integer(s.value)
	}
	if s.value == 0 {
		return s, resp.Absent
	}
	return s, resp.Integer(s.value)
}

// outcomes appends to dst what o may make of s.
func (o op) outcomes(dst []state, s state, from, by millis) []state {
	p := s.at(from, by)
	if p != gone {
		next, _ := o.apply(s, true, from, by)
		dst = append(dst, next)
	}
	if p != there {
		next, _ := o.apply(s, false, from, by)
		dst = append(dst, next)
	}
	return dst
}
