package engine

// contractOf returns the contract that applies to key, or nil. It must not be modified.
func (e *Engine) contractOf(key []byte) *Contract {
	if e.contracts.set.Load() == nil { // one load, inlined, where there are no contracts
		return nil
	}
	return e.contractAmong(key)
}

func (e *Engine) contractAmong(key []byte) *Contract {
	return e.contracts.set.Load().contractOf(key) // without a lock the last may just have been removed
}

// seeContractOf records in op that c, which may be nil, was applied to a key: an increment that it
// refused tells of it.
func (e *Engine) seeContractOf(op *Op, c *Contract) error {
	if c == nil || !e.logged {
		return nil
	}
	return e.seeEpoch(e.contracts.lastEpoch.Load(), c, op)
}

// seeContracts records in op that contracts were read, by what tells them to the caller. A change of
// contracts is rare and is itself a promise: it waits whatever the policy.
func (e *Engine) seeContracts(op *Op) error {
	if !e.logged {
		return nil
	}
	epoch := e.contracts.lastEpoch.Load()
	if r := e.refusal.Load(); r != nil && epoch > e.durable.Load() {
		return r.err
	}
	op.Seen = max(op.Seen, Epoch(epoch))
	return nil
}

// Contracts returns all contracts: the configuration's, then the others in the order they were made.
// They must not be modified.
func (e *Engine) Contracts(op *Op) ([]*Contract, error) {
	var list []*Contract
	if s := e.contracts.set.Load(); s != nil {
		list = s.list
	}
	return list, e.seeContracts(op)
}

// ContractOf returns the contract that applies to key, nil where none does, and whether it is that of
// the key's own name. It must not be modified.
func (e *Engine) ContractOf(op *Op, key []byte) (c *Contract, exact bool, err error) {
	if s := e.contracts.set.Load(); s != nil {
		c, exact = s.of(key)
	}
	return c, exact, e.seeContracts(op)
}
