/** The language of a collection: from its fields, or the most frequent one of its first documents. */
import type { CollectionSchema } from "@dowser/engine-sdk"
import { sourceOf } from "@dowser/engine-sdk/embedding"
import { Effect } from "effect"
import { sourcesOf } from "../embedding/own-field.ts"
import { words } from "../embedding/vector-access.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { languageOf } from "../understanding/language.ts"

const LOOKED_AT = 50
const CHARACTERS = 200
/** Minimum number of documents whose language is detected: fewer are not representative. */
const DETECTED_MIN = 5,
  SHARE_MIN = 0.6

/** The most frequent language; undefined if too few were detected. */
export const mostFrequent = (languages: ReadonlyArray<string | undefined>): string | undefined => {
  const detected = languages.filter((language) => language !== undefined)
  const counts = new Map<string, number>()
  for (const language of detected) counts.set(language, (counts.get(language) ?? 0) + 1)
  const [first] = [...counts].sort(([, a], [, b]) => b - a)
  return first !== undefined && detected.length >= DETECTED_MIN && first[1] >= SHARE_MIN * detected.length
    ? first[0]
    : undefined
}

/** O(50 documents), a page of a scan. */
export const makeCollectionLanguage = Effect.map(makeContexts, (contextOf) =>
  Effect.fnUntraced(function* (organizationId: string, schema: CollectionSchema) {
    const from = sourcesOf(schema)
    const locales = schema.fields.flatMap(({ locale, name }) =>
      locale !== undefined && locale !== "" && from.includes(name) ? [locale.slice(0, 2)] : []
    )
    const [locale] = locales
    if (locale !== undefined) return locales.every((each) => each === locale) ? locale : undefined
    const page = yield* Effect.promise(async () =>
      contextOf(organizationId).engine.scan(organizationId, {
        collection: schema.name,
        filter: undefined,
        limit: LOOKED_AT,
        selection: { include: ["id", ...from], exclude: [], joins: [] }
      })
    )
    if (!page.ok) return undefined
    const texts = page.value.documents.map((document) => (sourceOf({ from }, document) ?? "").slice(0, CHARACTERS))
    const languages = yield* Effect.promise(() => Promise.all(texts.map(async (text) => languageOf(text, words(text)))))
    return mostFrequent(languages)
  })
)
