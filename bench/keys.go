package main

import (
	"math/rand/v2"
	"sync/atomic"

	"countd/bench/zipf"
)

// keys draws the numbers of keys, from 0. A keys belongs to one client.
type keys interface {
	next() uint64
}

// newKeys makes the keys of one client; seq is shared by all of them.
func newKeys(o *options, r *rand.Rand, seq *atomic.Uint64) (keys, error) {
	switch o.keys {
	case "single":
		return singleKey{}, nil
	case "uniform":
		return &uniformKeys{r, o.keyspace}, nil
	case "zipf":
		return zipfKeys{zipf.New(r, o.zipfS, o.keyspace)}, nil
	case "seq":
		return &sequentialKeys{seq, o.keyspace}, nil
	}
	return nil, usagef("--keys %s: must be single, uniform, zipf or seq", o.keys)
}

// singleKey is the hot key.
type singleKey struct{}

func (singleKey) next() uint64 { return 0 }

// uniformKeys draws each key as often.
type uniformKeys struct {
	r *rand.Rand
	n uint64
}

func (k *uniformKeys) next() uint64 { return k.r.Uint64N(k.n) }

// zipfKeys draws a few keys most of the time.
type zipfKeys struct{ *zipf.Keys }

func (k zipfKeys) next() uint64 { return k.Next() }

// sequentialKeys goes through the key space, together with all other clients, over and over.
type sequentialKeys struct {
	at *atomic.Uint64 // the next number, handed to whoever adds
	n  uint64
}

func (k *sequentialKeys) next() uint64 { return (k.at.Add(1) - 1) % k.n }
