/** A document that a search found, as the source of an answer. Pure. */
import type { CollectionSchema } from "@dowser/engine-sdk"
import { OWN_VECTORS } from "@dowser/engine-sdk/embedding"
import { plainText } from "../extractive/hostile.ts"

export interface FoundDocument {
  readonly collection: string
  /** As the key may see it, without its vectors. */ readonly document: Readonly<Record<string, unknown>>
  /** 0 to 1, the best of its collection 1. */ readonly score: number
  /** Its title; undefined if no field is short enough. */ readonly title: string | undefined
  /** What it says beside its title, as a reader sees it. */ readonly text: string
  /** Values by which it is counted: words about it, not sentences. */ readonly labels: string
  /** Fields that the question names, with what they hold. */ readonly facts: ReadonlyArray<readonly [string, string]>
}

const TITLE_CHARACTERS_MAX = 200
/** The most text of a document that is read. */
const TEXT_CHARACTERS_MAX = 20_000
const LABEL_CHARACTERS_MAX = 2_000
const VALUES_MAX = 50

const textsOf = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : Array.isArray(value)
      ? value.slice(0, VALUES_MAX).filter((each) => typeof each === "string")
      : []
/** `a.b` names a key of a nested object, or a field with a dot in its name. */
const valueAt = (document: Readonly<Record<string, unknown>>, path: string): unknown => {
  const own = Object.getOwnPropertyDescriptor(document, path)
  if (own !== undefined) return own.value
  let value: unknown = document
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null) return undefined
    value = Object.getOwnPropertyDescriptor(value, name)?.value
  }
  return value
}
const shownValue = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" || typeof value === "bigint"
    ? String(value)
    : Array.isArray(value)
      ? value
          .slice(0, VALUES_MAX)
          .flatMap((each) => shownValue(each) ?? [])
          .join(", ")
      : undefined

const PLACEHOLDER = /\{\{\s*([^{}\s]{1,200})\s*\}\}/g
/** A template with what the document has in place of `{{field}}`; all values together have the bound of a text. */
const filled = (template: string, document: Readonly<Record<string, unknown>>): string => {
  let left = TEXT_CHARACTERS_MAX
  return template.replace(PLACEHOLDER, (_, name: string) => {
    const value = (shownValue(valueAt(document, name)) ?? "").slice(0, left)
    left -= value.length
    return value
  })
}

const CLAUSE = /([\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*)\s*:(?!:)/gu
/** Fields that a filter or an order of this program's own parser names, in their order. */
export const namedFields = (...texts: ReadonlyArray<string>): ReadonlyArray<string> => [
  // Values are in backticks and may contain anything.
  ...new Set(texts.flatMap((text) => [...text.replace(/`[^`]*`/g, "").matchAll(CLAUSE)].map((match) => match[1]!)))
]

interface Reading {
  readonly collection: string
  /** Fields of text, the one that names the document first. */ readonly sources: ReadonlyArray<string>
  /** Fields that are counted. */ readonly labels: ReadonlyArray<string>
  readonly template: string | undefined
  /** Fields that the question names. */ readonly named: ReadonlyArray<string>
}
/** O(document). */
export const foundDocument = (
  document: Readonly<Record<string, unknown>>,
  score: number,
  { collection, labels, named, sources, template }: Reading
): FoundDocument => {
  const said = (names: ReadonlyArray<string>) =>
    names.map((name) => textsOf(valueAt(document, name)).join("\n")).filter((text) => text.trim() !== "")
  const texts = said(sources)
  const at =
    texts.length < 2 ? -1 : texts.findIndex((text) => text.length <= TITLE_CHARACTERS_MAX && !text.includes("\n"))
  const title = at < 0 ? undefined : plainText(texts[at]!).trim()
  const text = template === undefined ? texts.filter((_, place) => place !== at).join("\n") : filled(template, document)
  return {
    collection,
    document,
    score,
    title: title === "" ? undefined : title,
    text: plainText(text.slice(0, TEXT_CHARACTERS_MAX)),
    labels: plainText(said(labels).join("\n").slice(0, LABEL_CHARACTERS_MAX)),
    facts: named.flatMap((name) => {
      const value = shownValue(valueAt(document, name))
      return value === undefined ? [] : [[name, plainText(value).slice(0, TITLE_CHARACTERS_MAX)] as const]
    })
  }
}

/** Vector fields say nothing to a reader; those that this program keeps beside a schema are never shown. */
export const vectorFields = ({ fields }: CollectionSchema): ReadonlyArray<string> =>
  fields.filter(({ name, num_dim }) => num_dim > 0 && name !== OWN_VECTORS).map(({ name }) => name)
