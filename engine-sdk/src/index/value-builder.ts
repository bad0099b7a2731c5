/** Collects the distinct values of a field in the order in which they are added. */
import type { Field } from "../schema.ts"
import type { IndexValue } from "../documents/mod.ts"
import { WordLog } from "./bytes.ts"
import { ordinalArray, SectionWriter } from "./sections.ts"
import { TokenTable } from "./token-table.ts"

export interface ColumnBuilder {
  add(doc: number, value: IndexValue): void
  finish(out: SectionWriter, at: number, docs: number): void | Generator<void, void>
}

/** Shortest decimal text of a number that is stored in 32-bit precision. */
export const floatText = (value: number): string => {
  const kept = Math.fround(value)
  // Prices and ratings have two decimals within the six digits that single precision always keeps.
  const cents = Math.round(kept * 100) / 100
  if (cents > -10_000 && cents < 10_000 && Math.fround(cents) === kept) return String(cents)
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(kept.toPrecision(digits))
    if (Math.fround(short) === kept) return String(short)
  }
  return String(Number(kept.toPrecision(9)))
}
const valueText = (value: unknown, field: Field): string =>
  typeof value === "string"
    ? value
    : typeof value === "number" && field.type.startsWith("float")
      ? floatText(value)
      : String(value)

export class ValueBuilder implements ColumnBuilder {
  private readonly ids = new TokenTable()
  /** Numbers and booleans seen so far, so that each gets its text once. */
  private readonly seen = new Map<number | boolean, number>()
  private readonly log = new WordLog()
  private readonly field: Field
  private readonly isArray: boolean
  constructor(field: Field, isArray: boolean) {
    this.field = field
    this.isArray = isArray
  }
  add(doc: number, value: IndexValue): void {
    if (Array.isArray(value)) for (const one of value) this.one(doc, one)
    else this.one(doc, value)
  }
  private one(doc: number, value: unknown): void {
    if (typeof value !== "number" && typeof value !== "boolean") {
      this.text(doc, valueText(value, this.field))
      return
    }
    const known = this.seen.get(value)
    if (known === undefined) {
      this.seen.set(value, this.text(doc, valueText(value, this.field)))
      return
    }
    this.log.push(doc)
    this.log.push(known)
  }
  /** Returns the text's number; texts are numbered in order of first occurrence. */
  text(doc: number, text: string): number {
    const id = this.ids.idOfText(text)
    this.log.push(doc)
    this.log.push(id)
    return id
  }
  finish(out: SectionWriter, at: number, docs: number): void {
    const prefix = `v${at}.`
    const { rank } = this.ids.put(out, prefix + "table.")
    const { words, length } = this.log
    if (!this.isArray) {
      const single = ordinalArray(docs, rank.length)
      for (let i = 0; i < length; i += 2) single[words[i]] = rank[words[i + 1]] + 1
      out.put(prefix + "single", single)
      return
    }
    const starts = new Uint32Array(docs + 1),
      ordinals = new Uint32Array(length / 2)
    for (let i = 0; i < length; i += 2) {
      starts[words[i] + 1]++
      ordinals[i / 2] = rank[words[i + 1]]
    }
    for (let d = 0; d < docs; d++) starts[d + 1] += starts[d]
    out.put(prefix + "starts", starts)
    out.put(prefix + "ordinals", ordinals)
  }
}
