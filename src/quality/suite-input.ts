/**
 * Validation of a suite. Checked without a schema, because a suite may have a hundred thousand judgments and each
 * invalid one must be named. Pure.
 */
import { type Issue, invalidFields, issuesIn } from "../http/checks.ts"
import type { InputInvalid } from "../http/errors.ts"
import { isObject } from "../http/json-fields.ts"
import { keptParameterIssues } from "../search/kept-parameters.ts"
import { cronRefusal } from "../job-rows/cron.ts"
import {
  DOCUMENT_ID_BYTES_MAX,
  GRADE_MAX,
  JUDGMENTS_MAX,
  QUERIES_MAX,
  QUERY_BYTES_MAX,
  SUITE_BYTES_MAX,
  TOLERANCE_BY_DEFAULT
} from "./schema.ts"

/** The stored form: query, document, grade, followed by 1 if it is from clicks. */
export type StoredJudgment = readonly [q: string, documentId: string, grade: number, isOfClicks?: 1]
export type Params = Readonly<Record<string, string | number | boolean>>
export interface SuiteFields {
  readonly name: string
  readonly collection: string
  readonly params: Params
  readonly judgments: ReadonlyArray<StoredJudgment>
  readonly tolerance: number
  readonly schedule_cron: string | undefined
}

const ISSUES_MAX = 100
const NAME_CHARACTERS_MAX = 120
const FIELDS = ["name", "collection", "params", "judgments", "tolerance", "schedule_cron"]
/** Parameters that a suite sets itself, those that would cost credits, and credentials. */
const NO_PARAMS = new Set(["q", "profile", "nl_query", "conversation", "voice_query", "collection"])

const isStorable = (text: string): boolean => !text.includes("\u0000") && text.isWellFormed()
const textRefusal = (value: unknown, bytesMax: number): string | undefined =>
  typeof value !== "string" || value === "" || Buffer.byteLength(value) > bytesMax
    ? `A text of 1 to ${bytesMax} bytes`
    : isStorable(value)
      ? undefined
      : "No NUL character and no half surrogate pair"
const nameRefusal = (value: unknown): string | undefined =>
  typeof value !== "string" || value.trim() === "" || [...value].length > NAME_CHARACTERS_MAX
    ? `A text of 1 to ${NAME_CHARACTERS_MAX} characters`
    : isStorable(value)
      ? undefined
      : "No NUL character and no half surrogate pair"

/** Issues of parameters, with their path in a body. */
export const paramsIssues = (params: unknown): ReadonlyArray<Issue> =>
  keptParameterIssues(params, { path: "params", of: "a suite", refused: NO_PARAMS })

const fits = (value: unknown, bytesMax: number): value is string =>
  typeof value === "string" &&
  value !== "" &&
  (value.length * 3 <= bytesMax || Buffer.byteLength(value) <= bytesMax) &&
  isStorable(value)
const isGrade = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= GRADE_MAX

/** A judgment in its stored form; undefined if it is invalid. A hundred thousand are read in some milliseconds. */
const quickly = (value: unknown): StoredJudgment | undefined => {
  if (!isObject(value)) return undefined
  const { document_id, grade, q } = value
  if (!fits(q, QUERY_BYTES_MAX) || !fits(document_id, DOCUMENT_ID_BYTES_MAX) || !isGrade(grade)) return undefined
  let fields = 0
  for (const _ in value) fields++
  return fields === 3 ? [q, document_id, grade] : undefined
}
/** What is wrong with a judgment. */
const judgmentIssues = (value: unknown, at: number): ReadonlyArray<Issue> => {
  const path = `judgments.${at}`
  if (!isObject(value)) return [{ path, message: "An object of `q`, `document_id` and `grade`" }]
  const { document_id, grade, q, ...others } = value
  return issuesIn([
    [`${path}.q`, textRefusal(q, QUERY_BYTES_MAX)],
    [`${path}.document_id`, textRefusal(document_id, DOCUMENT_ID_BYTES_MAX)],
    [`${path}.grade`, isGrade(grade) ? undefined : `A whole number from 0 to ${GRADE_MAX}`],
    ...Object.keys(others).map((name) => [`${path}.${name.slice(0, 80)}`, "Unknown field"] as const)
  ])
}

const readJudgments = (
  value: unknown
): { readonly judgments: ReadonlyArray<StoredJudgment>; readonly issues: ReadonlyArray<Issue> } => {
  const refuse = (message: string) => ({ judgments: [], issues: [{ path: "judgments", message }] })
  if (!Array.isArray(value))
    return refuse("A list of `{q, document_id, grade}`; an empty one where clicks will fill it")
  if (value.length > JUDGMENTS_MAX) return refuse(`At most ${JUDGMENTS_MAX} judgments`)
  const judgments: Array<StoredJudgment> = []
  const issues: Array<Issue> = []
  const known = new Map<string, Set<string>>()
  let bytes = 0
  for (let i = 0; i < value.length && issues.length < ISSUES_MAX; i++) {
    const read = quickly(value[i])
    if (read === undefined) {
      issues.push(...judgmentIssues(value[i], i))
      continue
    }
    const [q, documentId] = read
    let documents = known.get(q)
    if (documents === undefined) known.set(q, (documents = new Set()))
    if (documents.has(documentId))
      issues.push({ path: `judgments.${i}`, message: "The query and the document were judged before" })
    documents.add(documentId)
    bytes += Buffer.byteLength(q) + Buffer.byteLength(documentId) + 16
    judgments.push(read)
  }
  if (known.size > QUERIES_MAX) return refuse(`At most ${QUERIES_MAX} different queries`)
  if (bytes > SUITE_BYTES_MAX) return refuse(`At most ${SUITE_BYTES_MAX} bytes of judgments`)
  return { judgments, issues }
}

/** A body as a complete suite; omitted fields reset, except that omitted judgments are kept. */
export const suiteFieldsOf = (body: unknown): SuiteFields | InputInvalid => {
  if (!isObject(body)) return invalidFields([{ path: "body", message: "A suite is an object" }])
  const { collection, name, params = {}, schedule_cron, tolerance = TOLERANCE_BY_DEFAULT } = body
  const { issues: ofJudgments, judgments } = readJudgments(body.judgments)
  const issues = [
    ...issuesIn([
      ["name", nameRefusal(name)],
      ["collection", textRefusal(collection, 256)],
      [
        "tolerance",
        typeof tolerance === "number" && tolerance >= 0 && tolerance <= 1 ? undefined : "A number from 0 to 1"
      ],
      ["schedule_cron", cronRefusal(schedule_cron)],
      ...Object.keys(body)
        .filter((field) => !FIELDS.includes(field))
        .map((field) => [field.slice(0, 80), "Unknown field"] as const)
    ]),
    ...paramsIssues(params),
    ...ofJudgments
  ]
  if (issues.length > 0) return invalidFields(issues.slice(0, ISSUES_MAX))
  return {
    name: (name as string).trim(),
    collection: collection as string,
    params: params as Params,
    judgments,
    tolerance: tolerance as number,
    schedule_cron: typeof schedule_cron === "string" ? schedule_cron.trim() : undefined
  }
}
