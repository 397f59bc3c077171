package sketch

// node is an entry's place in the order of counts.
type node struct {
	count uint64
	entry uint16
}

// push adds a node behind the last.
func (s *SpaceSaving) push(n node) {
	s.heap = append(s.heap, n)
	i := len(s.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if s.heap[parent].count <= n.count {
			break
		}
		s.place(i, s.heap[parent])
		i = parent
	}
	s.place(i, n)
}

// raise adds weight to the node at i, which may have to go down: a heavy key is at the bottom, where
// there is nothing to do.
func (s *SpaceSaving) raise(at uint16, weight uint64) {
	i := int(at)
	n := s.heap[i]
	n.count += weight
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			break
		}
		if right := child + 1; right < len(s.heap) && s.heap[right].count < s.heap[child].count {
			child = right
		}
		if s.heap[child].count >= n.count {
			break
		}
		s.place(i, s.heap[child])
		i = child
	}
	s.place(i, n)
}

func (s *SpaceSaving) place(i int, n node) {
	s.heap[i] = n
	s.pos[n.entry] = uint16(i)
}
