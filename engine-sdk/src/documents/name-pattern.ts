/**
 * Names with wildcards (`score_.*`, `(a|b)_\d+`), matched as a whole in time proportional to name × pattern. A small
 * state machine is simulated instead of a backtracking regular expression, because patterns come from tenants.
 */
import { BoundedMap } from "../bounded-map.ts"

const PATTERN_LENGTH_MAX = 512
const DEPTH_MAX = 16
/** Whether a field or collection name is a pattern. */
export const isNamePattern = (name: string): boolean => name.includes(".*")

type Test = (code: number) => boolean
/** A state with `test` consumes a character and goes to `next`; others go to `next` and `other` and consume none. */
interface State {
  test?: Test
  next: number
  other: number
}
export interface NamePattern {
  matches(name: string): boolean
}

/** Memory of a compiled pattern per character, because it has about as many states as characters. */
const STATE_BYTES = 80
const patterns = new BoundedMap<string, NamePattern | null>({
  bytes_max: 8_000_000,
  bytesOf: (pattern) => pattern.length * STATE_BYTES
})
/**
 * The compiled pattern; undefined if it is too long or outside the supported subset (literals, `.`, classes, groups,
 * `|`, `*`, `+`, `?`). Cached.
 */
export const namePattern = (pattern: string): NamePattern | undefined => {
  if (pattern.length > PATTERN_LENGTH_MAX) return undefined
  const known = patterns.get(pattern)
  if (known !== undefined) return known ?? undefined
  const compiled = new Compiler(pattern).compile()
  patterns.set(pattern, compiled ?? null)
  return compiled
}

class Compiler {
  readonly #text: string
  #at = 0
  #depth = 0
  readonly #states: State[] = []
  constructor(text: string) {
    this.#text = text
  }

  compile(): NamePattern | undefined {
    const fragment = this.#alternatives()
    if (fragment === undefined || this.#at < this.#text.length) return undefined
    const accept = this.#add({ next: -1, other: -1 })
    this.#states[fragment.end].next = accept
    const states = this.#states
    const start = fragment.start
    return { matches: (name) => simulate(states, start, accept, name) }
  }
  #add(state: State): number {
    this.#states.push(state)
    return this.#states.length - 1
  }
  #free(): number {
    return this.#add({ next: -1, other: -1 })
  }
  #alternatives(): Fragment | undefined {
    if (++this.#depth > DEPTH_MAX) return undefined
    let left = this.#sequence()
    while (left !== undefined && this.#text[this.#at] === "|") {
      this.#at++
      const right = this.#sequence()
      if (right === undefined) return undefined
      const start = this.#add({ next: left.start, other: right.start })
      const end = this.#free()
      this.#states[left.end].next = end
      this.#states[right.end].next = end
      left = { start, end }
    }
    this.#depth--
    return left
  }
  #sequence(): Fragment | undefined {
    const start = this.#free()
    let end = start
    while (this.#at < this.#text.length && this.#text[this.#at] !== "|" && this.#text[this.#at] !== ")") {
      const atom = this.#quantified()
      if (atom === undefined) return undefined
      this.#states[end].next = atom.start
      end = atom.end
    }
    return { start, end }
  }
  #quantified(): Fragment | undefined {
    const atom = this.#atom()
    if (atom === undefined) return undefined
    const mark = this.#text[this.#at]
    if (mark !== "*" && mark !== "+" && mark !== "?") return atom
    this.#at++
    if ("*+?".includes(this.#text[this.#at] ?? " ")) return undefined
    const end = this.#free()
    const enter = this.#add({ next: atom.start, other: mark === "+" ? -1 : end })
    const again = this.#add({ next: mark === "?" ? end : atom.start, other: end })
    this.#states[atom.end].next = again
    return { start: enter, end }
  }
  #atom(): Fragment | undefined {
    const character = this.#text[this.#at++]
    if (character === "(") {
      const inner = this.#alternatives()
      if (inner === undefined || this.#text[this.#at] !== ")") return undefined
      this.#at++
      return inner
    }
    if (character === "[") return this.#consuming(this.#characterClass())
    if (character === ".") return this.#consuming(() => true)
    if (character === "\\") return this.#consuming(escape(this.#text[this.#at++]))
    if (character === "*" || character === "+" || character === "?" || character === "{" || character === "}")
      return undefined
    const code = character.charCodeAt(0)
    return character === "^" || character === "$" ? undefined : this.#consuming((other) => other === code)
  }
  #consuming(test: Test | undefined): Fragment | undefined {
    if (test === undefined) return undefined
    const end = this.#free()
    return { start: this.#add({ test, next: end, other: -1 }), end }
  }
  #characterClass(): Test | undefined {
    const negated = this.#text[this.#at] === "^"
    if (negated) this.#at++
    const tests: Test[] = []
    while (this.#at < this.#text.length && this.#text[this.#at] !== "]") {
      const character = this.#text[this.#at++]
      if (character === "\\") {
        const test = escape(this.#text[this.#at++])
        if (test === undefined) return undefined
        tests.push(test)
        continue
      }
      const from = character.charCodeAt(0)
      if (this.#text[this.#at] === "-" && this.#text[this.#at + 1] !== "]" && this.#at + 1 < this.#text.length) {
        const to = this.#text.charCodeAt(this.#at + 1)
        this.#at += 2
        tests.push((code) => code >= from && code <= to)
      } else tests.push((code) => code === from)
    }
    if (this.#text[this.#at] !== "]" || tests.length === 0) return undefined
    this.#at++
    return (code) => tests.some((test) => test(code)) !== negated
  }
}
interface Fragment {
  readonly start: number
  readonly end: number
}

const isDigit: Test = (code) => code >= 48 && code <= 57
const isWord: Test = (code) => isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95
const isSpace: Test = (code) => code === 32 || (code >= 9 && code <= 13)
const escape = (character: string | undefined): Test | undefined => {
  switch (character) {
    case undefined:
      return undefined
    case "d":
      return isDigit
    case "w":
      return isWord
    case "s":
      return isSpace
    case "D":
      return (code) => !isDigit(code)
    case "W":
      return (code) => !isWord(code)
    case "S":
      return (code) => !isSpace(code)
    default: {
      const literal = character.charCodeAt(0)
      return isWord(literal) ? undefined : (code) => code === literal
    }
  }
}
const simulate = (states: ReadonlyArray<State>, start: number, accept: number, name: string): boolean => {
  let current = closure(states, [start])
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i)
    const reached: number[] = []
    for (const state of current) if (states[state].test?.(code)) reached.push(states[state].next)
    if (reached.length === 0) return false
    current = closure(states, reached)
  }
  return current.has(accept)
}
const closure = (states: ReadonlyArray<State>, from: number[]): Set<number> => {
  const seen = new Set<number>()
  const open = from
  while (open.length > 0) {
    const state = open.pop() as number
    if (state < 0 || seen.has(state)) continue
    seen.add(state)
    if (states[state].test === undefined) open.push(states[state].next, states[state].other)
  }
  return seen
}
