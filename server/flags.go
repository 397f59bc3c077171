package server

// cmdFlag is a set of Redis's command flags.
type cmdFlag uint32

// The flags, in the order COMMAND INFO prints them.
const (
	flagWrite cmdFlag = 1 << iota
	flagReadOnly
	flagDenyOOM
	flagAdmin
	flagNoScript
	flagBlocking
	flagLoading
	flagStale
	flagFast
	flagNoAuth
	flagNoMandatoryKeys
	flagNoAsyncLoading
	flagNoMulti
	flagMovableKeys
	flagAllowBusy
)

var cmdFlagNames = []string{"write", "readonly", "denyoom", "admin", "noscript", "blocking",
	"loading", "stale", "fast", "no_auth", "no_mandatory_keys", "no_async_loading", "no_multi",
	"movablekeys", "allow_busy"}

// cmdCategory is a set of Redis's access control categories.
type cmdCategory uint32

// The categories, in the order COMMAND INFO prints them.
const (
	catKeyspace cmdCategory = 1 << iota
	catRead
	catWrite
	catString
	catHyperLogLog
	catAdmin
	catFast
	catSlow
	catDangerous
	catConnection
	catScripting
)

var cmdCategoryNames = []string{"keyspace", "read", "write", "string", "hyperloglog", "admin",
	"fast", "slow", "dangerous", "connection", "scripting"}

// keyFlag is a set of flags that say what a command does with a key.
type keyFlag uint32

// The key flags, in the order COMMAND INFO prints them.
const (
	keyRO keyFlag = 1 << iota
	keyRW
	keyOW
	keyRM
	keyAccess
	keyUpdate
	keyInsert
	keyDelete
	keyVariable
)

var keyFlagNames = []string{"RO", "RW", "OW", "RM", "access", "update", "insert", "delete",
	"variable_flags"}

// flagNames returns the names of the bits set in flags, names[i] being that of bit i.
func flagNames[F ~uint32](flags F, names []string) []string {
	var set []string
	for i, name := range names {
		if flags&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	return set
}
