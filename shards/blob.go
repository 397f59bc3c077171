package shards

func (p *Partition) addBlob(b []byte) uint32 {
	p.blobBytes += cap(b)
	if n := len(p.freeBlobs); n > 0 {
		i := p.freeBlobs[n-1]
		p.freeBlobs = p.freeBlobs[:n-1]
		p.blobs[i] = b
		return i
	}
	p.blobs = append(p.blobs, b)
	return uint32(len(p.blobs) - 1)
}

// dropBlob frees the blob of r, if it has one, settles its Hot and begins its tally anew; the caller then
// sets another value.
func (p *Partition) dropBlob(r Ref) {
	p.clearTally(r)
	if p.arena.flags(r)&flagHot != 0 {
		p.settle(r)
	}
	if k := p.arena.kind(r); k != Blob && k != Sketch {
		return
	}
	i := uint32(p.arena.word(r))
	p.blobBytes -= cap(p.blobs[i])
	p.blobs[i] = nil
	p.freeBlobs = append(p.freeBlobs, i)
	p.arena.setKind(r, Int)
}
