/** A document that a search found, as the source of an answer. Pure. */
import type { CollectionSchema } from "@dowser/engine-sdk"
import { OWN_VECTORS } from "@dowser/engine-sdk/embedding"
import { plainText } from "../extractive/hostile.ts"

export interface FoundDocument {
  readonly collection: string
  /** As the key may see it, without vectors. */ readonly document: Readonly<Record<string, unknown>>
  /** From 0 to 1; the best in its collection has 1. */ readonly score: number
  /** Its title; undefined if no field is short enough. */ readonly title: string | undefined
  /** Its text besides the title, as a reader sees it. */ readonly text: string
  /** Values of its facet fields: words about the document, not sentences. */ readonly labels: string
  /** Fields that the question names, with their values. */ readonly facts: ReadonlyArray<readonly [string, string]>
}

const TITLE_CHARACTERS_MAX = 200
/** Limit of the text read from one document. */
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
/** Fills `{{field}}` in a template with the document's values, whose total length is limited like a text's. */
const filled = (template: string, document: Readonly<Record<string, unknown>>): string => {
  let left = TEXT_CHARACTERS_MAX
  return template.replace(PLACEHOLDER, (_, name: string) => {
    const value = (shownValue(valueAt(document, name)) ?? "").slice(0, left)
    left -= value.length
    return value
  })
}

const CLAUSE = /([\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*)\s*:(?!:)/gu
/** Fields in a filter or an order that this program's own parser wrote, in order. */
export const namedFields = (...texts: ReadonlyArray<string>): ReadonlyArray<string> => [
  // Values are in backticks and may contain anything.
  ...new Set(texts.flatMap((text) => [...text.replace(/`[^`]*`/g, "").matchAll(CLAUSE)].map((match) => match[1]!)))
]

interface Reading {
  readonly collection: string
  /** Text fields, starting with the one that names the document. */ readonly sources: ReadonlyArray<string>
  /** Facet fields. */ readonly labels: ReadonlyArray<string>
  readonly template: string | undefined
  /** Fields that the question names. */ readonly named: ReadonlyArray<string>
}
/** O(document). */
export const foundDocument = (
  document: Readonly<Record<string, unknown>>,
  score: number,
  { collection, labels, named, sources, template }: Reading
): FoundDocument => {
  const textsAt = (names: ReadonlyArray<string>) =>
    names.map((name) => textsOf(valueAt(document, name)).join("\n")).filter((text) => text.trim() !== "")
  const texts = textsAt(sources)
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
    labels: plainText(textsAt(labels).join("\n").slice(0, LABEL_CHARACTERS_MAX)),
    facts: named.flatMap((name) => {
      const value = shownValue(valueAt(document, name))
      return value === undefined ? [] : [[name, plainText(value).slice(0, TITLE_CHARACTERS_MAX)] as const]
    })
  }
}

/** Vector fields are meaningless to a reader; those that this program adds to a schema are never shown. */
export const vectorFields = ({ fields }: CollectionSchema): ReadonlyArray<string> =>
  fields.filter(({ name, num_dim }) => num_dim > 0 && name !== OWN_VECTORS).map(({ name }) => name)
