package engine

// ParseContract reads a contract from words: the glob, then properties in any order and case, each
// once:
//
//	REPLIES exact|relaxed   SHARDS auto|n   DURABILITY always|everysec|no   STALENESS ms
//	MIN n   MAX n   TALLY yes|no
//
// Properties that are not named have their defaults. Errors: ErrContractSyntax, ErrNotInteger, or
// another *ContractError where a number is out of range; the caller checks the whole (Check).
func ParseContract(words [][]byte) (Contract, error) {
	if len(words)%2 != 1 {
		return Contract{}, ErrContractSyntax
	}
	c := Contract{Glob: string(words[0])}
	named := map[string]bool{}
	for i := 1; i < len(words); i += 2 {
		name := lowerASCII(words[i])
		if named[name] {
			return Contract{}, ErrContractSyntax
		}
		named[name] = true
		if err := c.parseProperty(name, words[i+1]); err != nil {
			return Contract{}, err
		}
	}
	return c, nil
}

func (c *Contract) parseProperty(name string, value []byte) error {
	switch name {
	case "replies", "durability", "tally":
		return c.parseChoice(name, value)
	case "shards":
		if lowerASCII(value) == "auto" {
			return nil
		}
		fallthrough
	case "staleness", "min", "max":
		return c.parseNumber(name, value)
	}
	return ErrContractSyntax
}

func (c *Contract) parseNumber(name string, value []byte) error {
	n, ok := ParseInt(value)
	if !ok {
		return ErrNotInteger
	}
	switch name {
	case "shards":
		if n < 1 || n > MaxShards {
			return ErrContractShards
		}
		c.Shards = int(n)
	case "staleness":
		c.StalenessMs = n
	case "min":
		c.Min, c.HasMin = n, true
	case "max":
		c.Max, c.HasMax = n, true
	}
	return nil
}

func (c *Contract) parseChoice(name string, value []byte) error {
	n, ok := contractChoices[name][lowerASCII(value)]
	if !ok {
		return ErrContractSyntax
	}
	switch name {
	case "replies":
		c.Replies = Replies(n)
	case "durability":
		c.Durability = FsyncPolicy(n)
	case "tally":
		c.Tally = n == 1
	}
	return nil
}

// contractChoices are the names of values and what they stand for.
var contractChoices = map[string]map[string]int{
	"replies": {"exact": int(RepliesExact), "relaxed": int(RepliesRelaxed)},
	"durability": {"always": int(FsyncAlways), "everysec": int(FsyncEverySec),
		"no": int(FsyncNo)},
	"tally": {"no": 0, "yes": 1},
}

// lowerASCII returns b with A to Z in lower case.
func lowerASCII(b []byte) string {
	s := make([]byte, len(b))
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		s[i] = c
	}
	return string(s)
}
