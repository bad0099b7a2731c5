/**
 * Which node is used next: those with the fewest recent failures, in rotation. A failed node is skipped for some
 * seconds, unless there is no other; afterwards the next request tries it.
 */
const ASIDE_MS = 5_000
/** Maximum failures that are counted; a recovered node is equal to the others after as many responses. */
const FAILURES_MAX = 5

interface Node {
  readonly address: string
  failures: number
  aside_ms: number
}
export class Nodes {
  readonly #nodes: ReadonlyArray<Node>
  readonly #now_ms: () => number
  #turn = 0
  constructor(addresses: ReadonlyArray<string>, now_ms: () => number = () => performance.now()) {
    this.#nodes = [...new Set(addresses.map((address) => address.replace(/\/+$/, "")))].map((address) => ({
      address,
      failures: 0,
      aside_ms: -Infinity
    }))
    this.#now_ms = now_ms
  }
  get count(): number {
    return this.#nodes.length
  }
  /** All nodes, best first. */
  order(): ReadonlyArray<string> {
    const first = this.#turn++ % Math.max(1, this.#nodes.length)
    const now = this.#now_ms()
    const cost = ({ aside_ms, failures }: Node): number => (aside_ms > now ? FAILURES_MAX + 1 : failures)
    return [...this.#nodes.slice(first), ...this.#nodes.slice(0, first)]
      .sort((a, b) => cost(a) - cost(b))
      .map(({ address }) => address)
  }
  answered(address: string): void {
    const node = this.#of(address)
    if (node === undefined) return
    node.failures = Math.max(0, node.failures - 1)
    node.aside_ms = -Infinity
  }
  failed(address: string): void {
    const node = this.#of(address)
    if (node === undefined) return
    node.failures = Math.min(FAILURES_MAX, node.failures + 1)
    node.aside_ms = this.#now_ms() + ASIDE_MS
  }
  #of(address: string): Node | undefined {
    return this.#nodes.find((node) => node.address === address)
  }
}
