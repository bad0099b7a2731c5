/**
 * The documents of an answer in the form from which answers are written: their fields as texts, without vectors,
 * invisible characters, or sentences that address a model. Pure.
 */
import { isInstruction, plainText } from "../assistants/extractive/hostile.ts"
import type { Source } from "../assistants/prompt/fence.ts"
import { isObject, listIn } from "../http/json-fields.ts"

const SOURCES_MAX = 50
const TEXT_MAX = 8_000
const FIELDS_MAX = 60
const DEPTH_MAX = 3
/** Longer lists of numbers are treated as vectors. */
const NUMBERS_MAX = 8
const TITLE_MAX = 300
const TITLES = ["title", "name", "headline", "label"]

type Line = readonly [name: string, text: string]
const isScalar = (value: unknown): boolean =>
  (typeof value === "string" && value.trim() !== "") ||
  typeof value === "number" ||
  typeof value === "bigint" ||
  typeof value === "boolean"
/** Accurate enough: a wrongly split sentence is only omitted together with its neighbour. */
const SENTENCE_END = /(?<=[.!?…])\s+|\n|(?<=[。！？])/u
const readable = (text: string): string => {
  const plain = plainText(text.slice(0, TEXT_MAX)).trim()
  if (!isInstruction(plain)) return plain
  const sentences = plain.split(SENTENCE_END)
  return sentences
    .filter((sentence) => !isInstruction(sentence))
    .join(" ")
    .trim()
}
const linesOf = (name: string, value: unknown, depth: number): ReadonlyArray<Line> => {
  if (isScalar(value)) {
    const text = readable(String(value))
    return text === "" ? [] : [[name, text]]
  }
  if (Array.isArray(value)) {
    const list = value as ReadonlyArray<unknown>
    if (list.length > NUMBERS_MAX && list.every((one) => typeof one === "number")) return []
    const scalars = list.filter(isScalar)
    const others = list.filter(isObject).flatMap((one) => linesOf(name, one, depth))
    return [...(scalars.length === 0 ? [] : [[name, readable(scalars.map(String).join(", "))] as const]), ...others]
  }
  if (!isObject(value) || depth >= DEPTH_MAX) return []
  return Object.entries(value).flatMap(([part, inner]) => linesOf(`${name}.${part}`, inner, depth + 1))
}
/** For readers: `is_new` becomes "is new", `size.width` becomes "size width". */
const spoken = (name: string): string => name.replace(/[_.]+/g, " ").trim()

/** A line end also ends a sentence; otherwise a title would merge with the text after it. */
const sourceOf = (document: Readonly<Record<string, unknown>>, n: number): Source => {
  const members = Object.entries(document)
  const texts = new Set(members.flatMap(([name, value]) => (typeof value === "string" ? [name] : [])))
  const lines = members
    .filter(([name]) => name !== "id")
    .flatMap(([name, value]) => linesOf(name, value, 0))
    .slice(0, FIELDS_MAX)
  const named = TITLES.flatMap((name) => lines.filter(([own]) => own === name))[0]
  const title = named ?? lines.find(([name, text]) => texts.has(name) && text.length <= TITLE_MAX)
  const text = lines
    .filter((line) => line !== title)
    .map(([name, value]) => (texts.has(name) ? value : `${spoken(name)}: ${value}`))
    .join("\n")
  return { n, title: (title?.[1] ?? String(document.id ?? "")).slice(0, TITLE_MAX), text: text.slice(0, TEXT_MAX) }
}

const documentsOf = (answer: unknown): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  [...listIn(answer, "hits"), ...listIn(answer, "grouped_hits").flatMap((group) => listIn(group, "hits"))].flatMap(
    (hit) => (isObject(hit) && isObject(hit.document) ? [hit.document] : [])
  )
/** From one search or several, interleaved by rank. */
export const sourcesOf = (answers: ReadonlyArray<unknown>): ReadonlyArray<Source> => {
  const lists = answers.map(documentsOf)
  const longest = Math.max(0, ...lists.map((list) => list.length))
  return Array.from({ length: longest }, (_, rank) => rank)
    .flatMap((rank) => lists.flatMap((list) => (rank < list.length ? [list[rank]!] : [])))
    .slice(0, SOURCES_MAX)
    .map((document, i) => sourceOf(document, i + 1))
}
