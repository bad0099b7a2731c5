/** Answers as JSON text. `text_match` exceeds 2^53 and is a bigint here: it is written as plain digits. */
import { stringifyJson } from "../documents/mod.ts"
import type { Hit, SearchAnswer, UnionAnswer } from "../plan.ts"

const storedTexts = new WeakMap<object, string>()
/** `text` is how this document is stored: as long as the object is shown unchanged, it need not be written again. */
export const keepStoredText = (document: object, text: string): void => { storedTexts.set(document, text) }

/** Hits are written part by part, so that the native writer does everything but the scores. O(answer). */
export const answerToJson = (answer: SearchAnswer | UnionAnswer): string => {
  let out = ""
  for (const key of Object.keys(answer) as Array<keyof typeof answer>) {
    const value: unknown = answer[key]
    if (value === undefined) continue
    out += out === "" ? "{" : ","
    if (key === "hits") out += `"hits":${hitsToJson(answer.hits ?? [])}`
    else if (key === "grouped_hits") out += `"grouped_hits":[${(answer.grouped_hits ?? []).map(({ found, group_key, hits }) => `{"found":${found},"group_key":${plain(group_key)},"hits":${hitsToJson(hits)}}`).join(",")}]`
    else out += `${JSON.stringify(key)}:${plain(value)}`
  }
  return `${out === "" ? "{" : out}}`
}
const hitsToJson = (hits: ReadonlyArray<Hit>): string => {
  let out = "["
  for (let i = 0; i < hits.length; i++) {
    const hit = hits[i] as unknown as Record<string, unknown>
    let text = ""
    for (const key in hit) {
      const value = hit[key]
      if (value === undefined) continue
      text += `${text === "" ? "{" : ","}${JSON.stringify(key)}:${typeof value === "bigint" ? value.toString() : (typeof value === "object" && value !== null ? storedTexts.get(value) : undefined) ?? plain(value)}`
    }
    out += `${i === 0 ? "" : ","}${text === "" ? "{" : text}}`
  }
  return `${out}]`
}
/** A document may hold 64-bit integers; only then the exact writer is needed. */
const plain = (value: unknown): string => {
  try { return JSON.stringify(value) } catch (error) {
    if (error instanceof TypeError) return stringifyJson(value)
    throw error
  }
}
