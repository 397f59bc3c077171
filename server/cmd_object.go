package server

import (
	"math"
	"strings"

	"countd/engine"
)

const (
	// embeddedBytes is the longest string that Redis keeps in one allocation with its header
	// (OBJ_ENCODING_EMBSTR_SIZE_LIMIT).
	embeddedBytes = 44
	// sharedIntegers: Redis keeps the integers from 0 on below this once for all keys and calls
	// their number of references sharedReferences (OBJ_SHARED_INTEGERS, OBJ_SHARED_REFCOUNT).
	sharedIntegers   = 10_000
	sharedReferences = math.MaxInt32
)

// object replies to OBJECT of a key with what reply makes of it, null where there is no key.
func (s *Session) object(key []byte, reply func(o engine.Object)) {
	o, ok, err := s.srv.eng.Object(&s.op, key)
	switch {
	case err != nil:
		s.fail(err)
	case !ok:
		s.null()
	default:
		reply(o)
	}
}

// cmdObjectEncoding replies with the encoding that Redis gives such a value when it is set.
func cmdObjectEncoding(s *Session, args [][]byte) {
	s.object(args[2], func(o engine.Object) {
		switch {
		case o.Kind == engine.ObjectInt:
			s.bulkString("int")
		case o.Kind == engine.ObjectBytes && o.Len <= embeddedBytes:
			s.bulkString("embstr")
		default:
			s.bulkString("raw")
		}
	})
}

// cmdObjectRefcount replies as Redis does, though no value of countd has references to count.
func cmdObjectRefcount(s *Session, args [][]byte) {
	s.object(args[2], func(o engine.Object) {
		if o.Kind == engine.ObjectInt && 0 <= o.Int && o.Int < sharedIntegers {
			s.int(sharedReferences)
			return
		}
		s.int(1)
	})
}

// cmdObjectIdletime replies as Redis does where frequencies are tracked and idle times are not.
func cmdObjectIdletime(s *Session, args [][]byte) {
	s.object(args[2], func(engine.Object) {
		s.err("ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when " +
			"switching between policies at runtime LRU and LFU data will take some time to adjust.")
	})
}

// cmdObjectFreq replies with the frequency that follows from the key's commands per second, in place of
// the counter that Redis has for its LFU policies and that redis-cli --hotkeys asks for. Here no policy
// needs to be selected.
func cmdObjectFreq(s *Session, args [][]byte) {
	rate, ok, err := s.srv.eng.Frequency(&s.op, args[2])
	switch {
	case err != nil:
		s.fail(err)
	case !ok:
		s.null()
	default:
		s.int(frequency(rate))
	}
}

const (
	maxFrequency = 255
	// frequencySteps is how many steps double the rate: one is 7%.
	frequencySteps = 10
)

// frequency maps commands per second to 0 … 255: 10·log2(1+rate), rounded. So 1 is 10, 1000 is 100,
// 10,000 is 133, a million is 199, and 255 is from 45 million on. A key that the detector has not
// noticed has 0.
func frequency(rate float64) int64 {
	return min(int64(math.Round(frequencySteps*math.Log2(1+max(rate, 0)))), maxFrequency)
}

func cmdObjectHelp(s *Session, args [][]byte) {
	s.help(args, strings.Split(`ENCODING <key>
    Return the kind of internal representation used in order to store the value
    associated with a <key>.
FREQ <key>
    Return the access frequency index of the <key>. The returned integer is
    proportional to the logarithm of the recent access frequency of the key.
IDLETIME <key>
    Return the idle time of the <key>, that is the approximated number of
    seconds elapsed since the last access to the key.
REFCOUNT <key>
    Return the number of references of the value associated with the specified
    <key>.`, "\n"))
}
