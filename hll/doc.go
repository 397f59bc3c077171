/*
Package hll counts distinct elements in little memory: the PF* commands.

# The idea

Hash every element to 64 bits. Among hashes that look random, one that begins with
k zero bits turns up once in 2^k, so the longest run of zeros seen says roughly how
many different hashes there were; an element seen again has the same hash and
changes nothing. One such number is a wild guess. HyperLogLog (Flajolet, Fusy,
Gandouet, Meunier, AofA 2007) makes m guesses from one hash: its first p bits pick
one of m = 2^p registers, the rest offer that register a rank, the position of
their first one bit, and a register keeps the largest rank it was offered. A mean
of the registers has a standard error of 1.04/sqrt(m): with p = 14, 16384 registers
and 0.81%, whether there were ten thousand elements or ten billion.

Two sketches merge by taking the larger of each pair of registers, and the result
is the sketch of the union.

# The nouns

  - A sketch is a byte slice, and nothing else: header and payload, no pointers. The
    engine keeps, logs and stores it as the string that it is; GET answers it.
  - A register is one byte of a dense sketch; its value is a rank, 0 to 51.
  - A key is one element of a sparse sketch: its hash, cut down to 32 bits.
  - The cached estimate is the last answer of Count, kept in the header.

# The bytes

	 0      4    5    6      8              16
	+------+----+----+------+--------------+--------------------------------------
	| CHLL | e  | v  | keys | estimate   s | payload
	+------+----+----+------+--------------+--------------------------------------
	e: encoding, 0 dense, 1 sparse     v: version, 1     s: top bit, stale

FORMAT.md has the tables. Byte 4 and byte 15 are where Redis has them, the magic is
not Redis's: its sketches hash differently, and counting on in one of them would
silently give a wrong number. Here they are not a sketch (WRONGTYPE).

	elements     encoding   bytes          error
	       0     sparse        16          none
	      10     sparse        56          none
	    2048     sparse     8,208          none but for 25-bit collisions: 0.06 expected
	    5000     dense     16,400          0.3% RMS
	  20,000     dense     16,400          0.6% RMS
	 100,000+    dense     16,400          0.81% standard

Sparse is a sorted array of keys. The 25 first bits of a hash are kept, with the
rank of the rest where those bits do not settle it, so that the register and the
rank at p = 14 can be had back and turning dense loses nothing (Heule, Nunkesser,
Hall: HyperLogLog in Practice, EDBT 2013). Its count is its number of keys.

Where to stop? At 4096 keys sparse and dense are equally long. An insertion moves
half of the keys on average, and this costs less than one might fear (mean over the
life of a sketch, below): 1024 keys 78 ns, 2048 keys 92 ns. 2048 is exact for twice
as many elements and never takes more than half the bytes of a dense sketch.

# An example, by hand

Let the hash of an element be

	00000000000011 00000000010 000000…
	the 14 bits     11 more     39 more

The register is 3. The first one bit of the remaining 50 stands tenth: rank 10.
Sparse, the 11 bits are not all 0, so the key is 3<<12 | 2<<1 = 12292, and back from
the key come register 3 and rank 10. Dense, register 3 becomes 10 if it was less,
and Add says so. Had another element already taken it to 12, nothing would change,
Add would say false, and the cached estimate would stay good.

# What is the library's and what is ours

The sketch is that of github.com/axiomhq/hyperloglog v0.3.0: its hash, its register
split, its sparse keys, its estimator (LogLog-Beta) with its roundings. Tests hold
registers and estimates to be equal, for sets and for arbitrary registers. A dense
payload behind the library's eight-byte version 2 header is read by UnmarshalBinary.
SelfTest runs both beside each other.

Its Sketch type cannot be the value itself: it is a graph of pointers (a hash set, a
list, a slice) where the engine needs bytes, Insert does not say whether anything
changed, which PFADD must answer, and Estimate compacts and computes anew each time.
To decode one from stored bytes for each command would cost 16 KiB of allocation.
Measured on one core of the development machine (AMD EPYC, go1.26; run
go test -bench . ./hll):

	                                      ours           library
	add, dense, with the hash             7.7 ns         7.4 ns
	add, sparse, life of 64 keys           44 ns          39 ns
	add, sparse, life of 2048 keys         92 ns         135 ns
	count, dense, stale                   4.6 µs         332 µs
	count, cached                         5.1 ns         as stale
	merge, dense, checked                 3.8 µs         4.7 µs, unchecked
	union, sparse, 900 + 900 keys        11.2 µs        41.6 µs, 12 allocations
	check, dense                          0.9 µs

Count is quicker since it takes a histogram of the registers and 40 additions in
place of 16384 calls of math.Pow. All terms are powers of two of which the sum is
exact in any order while no register exceeds 39; beyond, the library's order of
additions is followed, so that the answer is equal to the last bit there too.

So the library's code is used for the hash (its own dependency go-metro) and as the
reference in SelfTest and in the tests; what touches stored bytes is ours.

# Caveats

  - A sketch has one user at a time: Add and Merge change it in place or grow it
    (append's rules), Count writes the cached estimate. Estimate, Union, Valid and
    AppendRegisters only read.
  - A client may SET any string. Every function checks in O(1) that it cannot be led
    out of the slice, none panics, but only Valid, Merge and Union check all of it.
    A forged sketch can make Count answer any number, as it can in Redis.
  - The hash has a fixed, public seed, which merging needs: who chooses the elements
    can choose them so that they count as few.
  - At the turn from sparse to dense the count changes from exact to estimated; the
    two differ by 0.3% or so.
*/
package hll
