/** The content of one offer or item: its children by name, each with its attributes and texts, within limits. */
import { RECORD_BYTES_MAX } from "./reader.ts"

const CHILDREN_MAX = 2_000
interface Child {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  text: string
  /** The children of a child, if it has any. */ readonly children: Array<Child>
}

/** Collects a record while it is read. It tracks only depth, not meaning. */
export class Element {
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Array<Child> = []
  readonly line: number
  readonly #depth: number
  /** By name: the first text that is not empty. */ readonly #first = new Map<string, string>()
  #own: Child | undefined
  #inner: Child | undefined
  #count = 0
  size = 0
  mistake: string | undefined
  constructor(attributes: Readonly<Record<string, string>>, depth: number, line: number) {
    this.attributes = attributes
    this.#depth = depth
    this.line = line
  }
  get isTooLarge(): boolean {
    return this.size > RECORD_BYTES_MAX || this.#count > CHILDREN_MAX
  }
  open(name: string, attributes: Readonly<Record<string, string>>, depth: number): void {
    this.#count++
    if (this.isTooLarge) return
    const child: Child = { name, attributes, text: "", children: [] }
    for (const key in attributes) this.size += attributes[key]!.length
    if (depth === this.#depth + 1) {
      this.children.push(child)
      this.#own = child
      this.#inner = undefined
    } else if (depth === this.#depth + 2 && this.#own !== undefined) {
      this.#own.children.push(child)
      this.#inner = child
    }
  }
  text(text: string): void {
    this.size += text.length
    if (this.isTooLarge || this.#own === undefined) return
    // Unescaped tags in a text are removed, but their words stay.
    this.#own.text += text
    if (this.#inner !== undefined) this.#inner.text += text
  }
  close(depth: number): void {
    if (depth === this.#depth + 2) this.#inner = undefined
    if (depth !== this.#depth + 1 || this.#own === undefined) return
    const { name } = this.#own
    const text = (this.#own.text = this.#own.text.trim())
    if (text !== "" && !this.#first.has(name)) this.#first.set(name, text)
    this.#own = undefined
  }
  /** The first text that is not empty. */
  first(...names: ReadonlyArray<string>): string | undefined {
    for (const name of names) {
      const text = this.#first.get(name)
      if (text !== undefined) return text
    }
    return undefined
  }
  all(name: string): ReadonlyArray<Child> {
    return this.children.filter((child) => child.name === name)
  }
  texts(name: string): ReadonlyArray<string> {
    const texts: Array<string> = []
    for (const child of this.children) if (child.name === name && child.text !== "") texts.push(child.text)
    return texts
  }
}
