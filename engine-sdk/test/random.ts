/** Random cases from a seed: the same numbers on every machine. */
export interface Random {
  /** A number with 0 <= x < 1. */ next(): number
  below(n: number): number
  pick<A>(list: ReadonlyArray<A>): A
  chance(share: number): boolean
}
export const randomOf = (seed: number): Random => {
  const next = (): number => {
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (n: number): number => Math.floor(next() * n)
  return { next, below, pick: (list) => list[below(list.length)], chance: (share) => next() < share }
}
