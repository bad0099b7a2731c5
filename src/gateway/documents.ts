/** Operations of a connector key: store and delete documents of one index, each with its own result. */
import { type EngineError, type Result, statusOf, type WriteOperation, type WriteVerdict } from "@dowser/engine-sdk"
import { boundedText } from "@dowser/engine-sdk/host"
import { CONTAINERS_MAX, parseBounded, parseJson } from "@dowser/engine-sdk/documents"
import { DOCUMENTS_MAX } from "./limits.ts"
import { type Fault, isObject } from "./search-body.ts"

interface DocumentVerdict {
  readonly id?: string
  readonly ok: boolean
  readonly status?: number
  readonly error?: string
}
export interface DocumentVerdicts {
  readonly succeeded: number
  readonly failed: number
  readonly results: ReadonlyArray<DocumentVerdict>
}

const listOf = (text: string, name: "documents" | "ids"): ReadonlyArray<unknown> | Fault => {
  // Numbers beyond 2^53 stay exact.
  const body = parseBounded(text, undefined, parseJson)
  if (typeof body !== "object")
    return {
      path: "body",
      message:
        body === "invalid"
          ? "The body is not valid JSON"
          : body === "too deep"
            ? "The body nests too deep"
            : `The body has more than ${CONTAINERS_MAX} objects and lists`
    }
  if (!isObject(body.value)) return { path: "body", message: "An object" }
  const unknown = Object.keys(body.value).find((key) => key !== name)
  if (unknown !== undefined) return { path: unknown, message: "Not a field of this body" }
  const list = body.value[name]
  return Array.isArray(list) && list.length > 0 && list.length <= DOCUMENTS_MAX
    ? list
    : { path: name, message: `A list of 1 to ${DOCUMENTS_MAX}` }
}
const isList = (value: ReadonlyArray<unknown> | Fault): value is ReadonlyArray<unknown> => Array.isArray(value)

export type Writes = ReadonlyArray<WriteOperation> | Fault
export const isWrites = (writes: Writes): writes is ReadonlyArray<WriteOperation> => Array.isArray(writes)
export const putsOf = (text: string): Writes => {
  const documents = listOf(text, "documents")
  if (!isList(documents)) return documents
  const wrong = documents.findIndex((document) => !isObject(document))
  // Any other problem of a document is reported in its own result.
  return wrong >= 0
    ? { path: `documents[${wrong}]`, message: "An object" }
    : documents.map((document) => ({
        kind: "put",
        action: "upsert",
        dirtyValues: undefined,
        document: document as Record<string, unknown>
      }))
}
export const deletesOf = (text: string): Writes => {
  const ids = listOf(text, "ids")
  if (!isList(ids)) return ids
  const wrong = ids.findIndex((id) => typeof id !== "string" || id === "")
  return wrong >= 0
    ? { path: `ids[${wrong}]`, message: "A text" }
    : ids.map((id) => ({ kind: "delete", id: id as string }))
}

const idOf = (operation: WriteOperation): string | undefined => {
  if (operation.kind === "delete") return operation.id
  const { id } = operation.document as { readonly id?: unknown }
  return typeof id === "string" ? id : undefined
}
export const verdictsOf = (
  operations: ReadonlyArray<WriteOperation>,
  verdicts: ReadonlyArray<WriteVerdict>
): DocumentVerdicts => {
  const results = verdicts.map(({ id, result }: WriteVerdict, i): DocumentVerdict => {
    const known = result.ok ? result.value.id : (id ?? idOf(operations[i]!))
    const named = known === undefined ? {} : { id: known }
    return result.ok ? { ...named, ok: true } : { ...named, ok: false, ...refusalOf(result) }
  })
  const succeeded = results.filter(({ ok }) => ok).length
  return { succeeded, failed: results.length - succeeded, results }
}
const refusalOf = ({ error }: Extract<Result<unknown, EngineError>, { readonly ok: false }>) => ({
  status: statusOf(error),
  error: boundedText(error.message)
})
