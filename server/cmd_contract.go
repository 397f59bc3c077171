package server

import (
	"strings"

	"countd/engine"
)

func cmdContractSet(s *Session, args [][]byte) {
	c, err := engine.ParseContract(args[2:])
	if err == nil {
		err = s.srv.eng.SetContract(&s.op, c)
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.ok()
}

func cmdContractDel(s *Session, args [][]byte) {
	found, err := s.srv.eng.DelContract(&s.op, string(args[2]))
	s.bit(found, err)
}

func cmdContractList(s *Session, args [][]byte) {
	list, err := s.srv.eng.Contracts(&s.op)
	if err != nil {
		s.fail(err)
		return
	}
	s.array(len(list))
	for _, c := range list {
		s.mapHeader(2 + contractProperties)
		s.field("glob", c.Glob)
		from := "command"
		if c.FromConfig {
			from = "config"
		}
		s.field("from", from)
		s.contractProperties(c)
	}
}

// cmdContractGet replies with the contract that applies to a key: its glob, why it is that one, and
// its properties; without one, with the defaults.
func cmdContractGet(s *Session, args [][]byte) {
	c, exact, err := s.srv.eng.ContractOf(&s.op, args[2])
	if err != nil {
		s.fail(err)
		return
	}
	s.mapHeader(2 + contractProperties)
	s.bulkString("glob")
	why := "it is the key's own name, which goes before any glob"
	switch {
	case c == nil:
		s.null()
		c, why = &engine.Contract{}, "no glob matches the key: these are the defaults"
	case exact:
		s.bulkString(c.Glob)
	default:
		s.bulkString(c.Glob)
		why = "it is the first glob that matches the key, in the order of CNT.CONTRACT LIST"
	}
	s.field("why", why)
	s.contractProperties(c)
}

// contractProperties is the number of pairs that Session.contractProperties replies with.
const contractProperties = 7

// contractProperties replies with the properties of a contract as pairs of a map, in the words of
// CNT.CONTRACT SET. The durability "appendfsync" follows that option; a min or max that is not set is
// null.
func (s *Session) contractProperties(c *engine.Contract) {
	s.field("replies", map[engine.Replies]string{
		engine.RepliesExact: "exact", engine.RepliesRelaxed: "relaxed"}[c.Replies])
	s.bulkString("shards")
	if c.Shards == 0 {
		s.bulkString("auto")
	} else {
		s.int(int64(c.Shards))
	}
	s.field("durability", map[engine.FsyncPolicy]string{
		engine.FsyncOff: "appendfsync", engine.FsyncNo: "no", engine.FsyncEverySec: "everysec",
		engine.FsyncAlways: "always"}[c.Durability])
	s.bulkString("staleness")
	s.int(c.StalenessMs)
	s.bulkString("min")
	s.intOrNull(c.Min, c.HasMin)
	s.bulkString("max")
	s.intOrNull(c.Max, c.HasMax)
	tally := "no"
	if c.Tally {
		tally = "yes"
	}
	s.field("tally", tally)
}

func (s *Session) intOrNull(n int64, ok bool) {
	if !ok {
		s.null()
		return
	}
	s.int(n)
}

// cmdCntInfo replies with what a key holds. value is null where that is no integer. ups, downs and net
// are null where the contract has no tally; else ups and downs count from when the value was last set,
// and net is the value, 0 where the key is absent.
func cmdCntInfo(s *Session, args [][]byte) {
	info, err := s.srv.eng.Info(&s.op, args[1])
	if err != nil {
		s.fail(err)
		return
	}
	s.mapHeader(6)
	s.field("type", typeName(info.Type))
	s.bulkString("value")
	s.intOrNull(info.Int, info.IsInt)
	s.bulkString("contract")
	if info.Contract == nil {
		s.null()
	} else {
		s.bulkString(info.Contract.Glob)
	}
	tallied := info.Contract != nil && info.Contract.Tally
	s.bulkString("ups")
	s.intOrNull(info.Ups, tallied)
	s.bulkString("downs")
	s.intOrNull(info.Downs, tallied)
	s.bulkString("net")
	s.intOrNull(info.Int, tallied && (info.IsInt || info.Type == engine.TypeNone))
}

func cmdContractHelp(s *Session, args [][]byte) {
	s.help(args, strings.Split(`SET <glob> [<property> <value> ...]
    Set what the counters promise whose keys match <glob>, in all databases.
    A contract with the same glob is replaced; properties not named have their defaults.
    Properties are:
    * REPLIES (exact|relaxed)
      Exact, the default: INCRBY is a fetch-and-add and no reply is given twice.
      Relaxed: a reply is a recent sum with the caller's own increment in it.
    * SHARDS (auto|<count>)
      Over how many cells a hot counter is striped, at most one for each event loop.
    * DURABILITY (always|everysec|no)
      When a write may be acknowledged, in place of appendfsync.
    * STALENESS <milliseconds>
      How old the total may be that a read of a hot counter returns.
    * MIN <integer>, MAX <integer>
      The range that increments may not leave.
    * TALLY (yes|no)
      Keep ups and downs apart; CNT.INFO tells them.
GET <key>
    Tell which contract applies to <key>, and why.
LIST
    List all contracts in the order in which they apply.
DEL <glob>
    Remove the contract of <glob>.`, "\n"))
}
