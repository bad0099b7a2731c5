/** Which collections the operations of the catalogue access. */
import { listIn, textIn } from "../http/json-fields.ts"
import { referredBy } from "../engine-plane/reached.ts"
import type { NamesOf, Reach } from "../identity/reach.ts"

const namedInSchema = (body: unknown, others: ReadonlyArray<string> = []): ReturnType<NamesOf> =>
  ["synonym_sets", "curation_sets"].some((name) => listIn(body, name).length > 0)
    ? "organization"
    : [
        ...others,
        ...listIn(body, "fields")
          .flatMap((field) => textIn(field, "reference"))
          .filter((reference) => reference !== "")
          .map(referredBy)
      ]

const ofAll = (...ids: ReadonlyArray<string>): Readonly<Record<string, Reach>> =>
  Object.fromEntries(ids.map((id) => [id, "organization" as const]))
const sets = (title: string) =>
  ofAll(
    `list${title}Sets`,
    `get${title}Set`,
    `upsert${title}Set`,
    `delete${title}Set`,
    `list${title}Items`,
    `get${title}Item`,
    `upsert${title}Item`,
    `delete${title}Item`
  )

export const reaches: Readonly<Record<string, Reach>> = {
  getCollections: "filtered",
  createCollection: ({ body, search }) =>
    namedInSchema(body, [...textIn(body, "name"), ...(search.src_name === undefined ? [] : [search.src_name])]),
  getCollection: "path",
  listSchemaChanges: "filtered",
  updateCollection: ({ body }) => namedInSchema(body),
  deleteCollection: "path",

  indexDocument: "path",
  importDocuments: "path",
  exportDocuments: "path",
  getDocument: "path",
  updateDocument: "path",
  deleteDocument: "path",
  updateDocuments: "path",
  deleteDocuments: "path",

  listAliases: "filtered",
  getAlias: "each",
  upsertAlias: "each",
  deleteAlias: "each",
  ...ofAll("listPresets", "getPreset", "upsertPreset", "deletePreset"),
  ...sets("Synonym"),
  ...sets("Curation"),
  ...ofAll("listStopwords", "getStopwords", "upsertStopwords", "deleteStopwords"),
  ...ofAll("listStemmingDictionaries", "getStemmingDictionary", "deleteStemmingDictionary", "importStemmingDictionary")
}
