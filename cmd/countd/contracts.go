package main

import (
	"errors"
	"fmt"

	"countd/config"
	"countd/engine"
)

// checkContract returns nil where the words of a contract line can be kept by a server that has a log.
func checkContract(words []string) error {
	c, err := parseContract(words)
	if err == nil {
		err = c.Check(true)
	}
	return contractReason(err)
}

// checkContracts returns nil where the server that cfg describes can keep all its contracts.
func checkContracts(cfg *config.Config) error {
	for _, c := range contracts(cfg) {
		if err := c.Check(policy(cfg) != engine.FsyncOff); err != nil {
			return fmt.Errorf("contract '%s': %w", c.Glob, contractReason(err))
		}
	}
	return nil
}

// contracts are those of the configuration, which checkContract has seen.
func contracts(cfg *config.Config) (all []engine.Contract) {
	for _, words := range cfg.Lines("contract") {
		c, _ := parseContract(words)
		all = append(all, c)
	}
	return all
}

func parseContract(words []string) (engine.Contract, error) {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	return engine.ParseContract(args)
}

// contractReason is err as the person who writes the configuration reads it.
func contractReason(err error) error {
	var refused *engine.ContractError
	switch {
	case err == engine.ErrContractSyntax:
		return errors.New("expected a glob, then pairs of REPLIES exact|relaxed, SHARDS auto|n, " +
			"DURABILITY always|everysec|no, STALENESS ms, MIN n, MAX n, TALLY yes|no, each once")
	case errors.Is(err, engine.ErrNotInteger):
		return errors.New("a number is not an integer or out of range")
	case errors.As(err, &refused):
		return errors.New(refused.Reason)
	}
	return err
}
