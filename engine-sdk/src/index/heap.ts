/** A heap of numbers: only the least one is at a known position. */

export class Heap {
  keys = new Float32Array(1_024)
  nodes = new Uint32Array(1_024)
  size = 0
  push(key: number, node: number): void {
    if (this.size === this.keys.length) this.grow()
    const { keys, nodes } = this
    let at = this.size++
    while (at > 0) {
      const above = (at - 1) >> 1
      if (keys[above] <= key) break
      keys[at] = keys[above]
      nodes[at] = nodes[above]
      at = above
    }
    keys[at] = key
    nodes[at] = node
  }
  pop(): void {
    const { keys, nodes } = this,
      size = --this.size,
      key = keys[size],
      node = nodes[size]
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= size) break
      if (below + 1 < size && keys[below + 1] < keys[below]) below++
      if (keys[below] >= key) break
      keys[at] = keys[below]
      nodes[at] = nodes[below]
      at = below
    }
    keys[at] = key
    nodes[at] = node
  }
  private grow(): void {
    const { keys, nodes } = this
    this.keys = new Float32Array(2 * keys.length)
    this.nodes = new Uint32Array(2 * nodes.length)
    this.keys.set(keys)
    this.nodes.set(nodes)
  }
}
