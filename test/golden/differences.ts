/**
 * Where this product differs from the recordings on purpose, with the reason and the columns that it excuses. Every
 * other disagreement is a defect, and so is an entry that no longer excuses anything (`idle`).
 */
export interface GoldenRecord {
  readonly id: string
  readonly group: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly response: unknown
  readonly body?: unknown
  readonly text?: string
  readonly file?: string
  readonly from?: number
  readonly to?: number
  readonly aux?: boolean
  readonly sum?: boolean
  readonly cut?: boolean
  readonly lines?: boolean
  readonly skip?: ReadonlyArray<string>
}

export interface Difference {
  readonly reason: string
  /** The columns that may disagree for that reason; every other column of the same record still counts. */
  readonly columns: ReadonlyArray<string>
  /** The records by their ids, or by a property: */ readonly ids?: ReadonlyArray<string>
  readonly where?: (record: GoldenRecord) => boolean
}
interface Disagreeing {
  readonly record: GoldenRecord
  /** The columns that disagree. */ readonly metrics: ReadonlyArray<string>
}

/** A parameter of the request, or "" if the request does not have it. */
const given = ({ path }: GoldenRecord, name: string): string =>
  new URLSearchParams(path.split("?")[1] ?? "").get(name) ?? ""
const wordsOf = (record: GoldenRecord): string[] =>
  given(record, "q")
    .toLowerCase()
    .split(" ")
    .filter((word) => word !== "")
const fieldsOf = (record: GoldenRecord): string[] => given(record, "query_by").split(",")
const asks = (record: GoldenRecord, pattern: RegExp): boolean => fieldsOf(record).some((field) => pattern.test(field))
interface UnionBody {
  readonly union?: boolean
  readonly remove_duplicates?: boolean
  readonly searches?: ReadonlyArray<{ readonly collection?: string; readonly q?: string }>
}
/** The searches of a union that removes duplicates. */
const mergedSearches = ({ body }: GoldenRecord): NonNullable<UnionBody["searches"]> => {
  const { remove_duplicates, searches, union } = (body ?? {}) as UnionBody
  return union === true && remove_duplicates !== false ? (searches ?? []) : []
}
const several = (values: ReadonlyArray<unknown>): boolean => new Set(values).size > 1

const MARKS = ["highlight", "highlights_v1"]
const HITS = ["ids10", "found", "text_match", ...MARKS]
/** Fields of the recorded collections, grouped by the type that a rule needs. */
const DECIMAL = /^(price|rating|average_rating)\(/,
  OPTIONAL_INTEGER = /^qty\(/,
  LIST = /^(alternatenames|categories|tags|authors)$/

/**
 * When two entries excuse the same column of a record, the first one counts, so special entries stand before general
 * ones.
 */
export const DIFFERENCES: ReadonlyArray<Difference> = [
  {
    reason: "letters of other scripts are case-folded in fields without locale, so no typo is needed",
    columns: ["text_match"],
    where: (record) => /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(given(record, "q")) && !asks(record, /^t_(ru|el)$/)
  },
  {
    reason:
      "the reference reads Japanese by pronunciation and marks shifted words; here words are segmented and kana folded",
    columns: ["text_match", ...MARKS],
    where: (record) => asks(record, /^t_ja$/)
  },
  {
    reason: "highlights keep the Korean text as stored; the reference shows it decomposed",
    columns: MARKS,
    where: (record) => asks(record, /^t_ko$/)
  },
  {
    reason:
      "marks stand on the letters that matched; the reference's are shifted after letters that fold to more bytes, and by what a locale drops",
    columns: MARKS,
    where: (record) => asks(record, /^t_(tr|fa)$/) && /[\u0130\u0131\u200c]/.test(given(record, "q"))
  },
  {
    reason: "a document without the value of a decay function sorts last; the reference fails the whole search",
    columns: ["status", "message"],
    where: (record) => OPTIONAL_INTEGER.test(given(record, "sort_by")) && given(record, "sort_by").includes("func:")
  },
  {
    reason: "decay functions act on decimal fields; the reference scores all their documents alike",
    columns: ["ids10", "text_match", ...MARKS],
    where: (record) => DECIMAL.test(given(record, "sort_by")) && given(record, "sort_by").includes("func:")
  },
  {
    reason: "another random order for the same seed, so other hits are compared",
    columns: ["text_match", ...MARKS],
    where: (record) => given(record, "sort_by").startsWith("_rand")
  },
  {
    reason: "a preset's value is an object from the start; the reference stores anything and fails when it is used",
    columns: ["status", "body"],
    where: ({ body, method, path }) =>
      method === "PUT" &&
      path.startsWith("/presets/") &&
      typeof (body as { value?: unknown } | undefined)?.value === "string"
  },
  {
    reason:
      "two AND-ed joins of one collection ask for one related document that passes both; the reference overlooks some, because it compares lists that are not in order",
    columns: ["ids10", "found"],
    where: (record) => /\$(\w+)\(.*&& *\$\1\(/.test(given(record, "filter_by"))
  },
  {
    reason:
      "duplicates of a union are the same document of the same collection; the reference compares insertion numbers across collections",
    columns: ["ids10", "found"],
    where: (record) => several(mergedSearches(record).map(({ collection }) => collection))
  },
  {
    reason:
      "repetitions in a union are counted among its best hits; the reference counts those that its heap still holds when they come",
    columns: ["found"],
    where: (record) => several(mergedSearches(record).map(({ q }) => q))
  },
  {
    reason:
      "a negated join means no related document, from either side; the reference overlooks the negation from the referring side",
    columns: ["ids10", "found"],
    where: (record) => record.path.startsWith("/collections/orders/") && given(record, "filter_by").startsWith("!$")
  },
  {
    reason: "the recorded body is not JSON, ours is",
    columns: ["message"],
    where: ({ response }) => typeof (response as { text?: unknown } | undefined)?.text === "string"
  },
  {
    reason: "an integer parameter that is no unsigned integer is refused, cache_ttl too",
    columns: ["status", ...HITS],
    where: (record) => /\D/.test(given(record, "cache_ttl"))
  },
  {
    reason: "the sum of a number facet with groups counts every document once; the reference counts some twice",
    columns: ["facet_stats"],
    where: (record) => given(record, "group_by") !== "" && given(record, "facet_by").includes(",")
  },
  {
    reason: "a grouped `found` is an estimate in the reference; here it is exact",
    columns: ["found"],
    where: (record) => given(record, "group_by") !== ""
  },
  {
    reason: "stopwords read back in the order they were given; the reference promises no order",
    columns: ["body"],
    where: ({ method, path }) => method === "GET" && path.startsWith("/stopwords/")
  },
  {
    reason:
      "of more than four times as many continuations of a prefix as there are candidates the reference meets only those that its heap over the radix tree brings up first; here all are looked at, equals by the alphabet",
    columns: ["ids10", "found"],
    where: (record) => /^[^*]$/u.test(wordsOf(record).at(-1) ?? "") || /:=?\w\*/.test(given(record, "filter_by"))
  },
  {
    reason:
      "which of several equally near words a typo may stand for fill the candidates follows the same heap; a few documents more or less are found behind the first ten",
    columns: ["found"],
    where: (record) =>
      wordsOf(record).length > 1 &&
      (given(record, "drop_tokens_mode").startsWith("both_sides") || given(record, "exhaustive_search") === "true")
  },
  {
    reason:
      "equally good fields of the older highlights come in the order of their scores, then of `query_by`; the reference's prefix search inside `infix` puts the field first that it walked first",
    columns: ["highlights_v1"],
    where: (record) => given(record, "infix") !== "" && fieldsOf(record).length > 1
  },
  {
    reason:
      "of an array the element in which a word stands earliest gives the position; the reference takes the last element that it looked at",
    columns: ["ids10", "text_match"],
    where: (record) => given(record, "prioritize_token_position") === "true" && asks(record, LIST)
  },
  {
    reason:
      "with `_text_match:asc` the documents whose only match is a prefix completion come first, as they score less; the reference scored the four as whole words",
    columns: ["ids10"],
    where: (record) => given(record, "sort_by").startsWith("_text_match:asc")
  },
  {
    reason: "a field whose value is the query word for word is exact, also where words repeat (`old old …`)",
    columns: ["text_match"],
    where: (record) => wordsOf(record).length > 2 && new Set(wordsOf(record)).size < wordsOf(record).length
  },
  {
    reason:
      "the option form of a geo filter is exact; the reference takes every cell that the circle or polygon touches",
    columns: ["ids10", "found"],
    where: (record) => given(record, "filter_by").includes(":([")
  },
  {
    reason:
      "a geo field named without a point sorts nothing, so ties by newest first; the reference sorts by the packed coordinates",
    columns: ["ids10"],
    where: (record) => given(record, "sort_by").startsWith("loc:")
  },
  // These depend on more than the request: on which of its words the documents contain, and on a synonym set.
  {
    reason:
      "the reference combines a typo of one word with candidates of the other before it drops a word, and stops at the one document that has both; here dropping finds the 106 that have one",
    columns: [...HITS, "facets", "facet_order", "facet_stats"],
    ids: ["q1895.0"]
  },
  {
    reason:
      "a synonym of several words that is only partly there counts as the words found; the reference counts the words of the longest spelling",
    columns: ["text_match", ...MARKS],
    ids: ["q2915.4"]
  }
]

const excuses = ({ columns, ids, where }: Difference, record: GoldenRecord, column: string): boolean =>
  columns.includes(column) && (ids?.includes(record.id) === true || where?.(record) === true)

/** The reasons for a record, at most one for each column, and the columns without a reason. */
export const excuseOf = (
  { metrics, record }: Disagreeing,
  differences: ReadonlyArray<Difference> = DIFFERENCES
): { readonly reasons: ReadonlyArray<string>; readonly unexcused: ReadonlyArray<string> } => {
  const found = metrics.map((column) => differences.find((difference) => excuses(difference, record, column))?.reason)
  return {
    reasons: [...new Set(found)].filter((reason) => reason !== undefined),
    unexcused: metrics.filter((_column, i) => found[i] === undefined)
  }
}

/**
 * Which parts of the entries excuse nothing: a whole entry, one of its records, or a column. `all` is every
 * disagreement of a complete replay.
 */
export const idle = (
  all: ReadonlyArray<Disagreeing>,
  differences: ReadonlyArray<Difference> = DIFFERENCES
): ReadonlyArray<string> =>
  differences.flatMap((difference) => {
    // Only what no earlier entry excuses counts as an entry's own.
    const own = all.flatMap(({ metrics, record }) =>
      metrics
        .filter((column) => differences.find((other) => excuses(other, record, column)) === difference)
        .map((column) => ({ id: record.id, column }))
    )
    if (own.length === 0) return [`excuses nothing: ${difference.reason}`]
    return [
      ...(difference.ids ?? [])
        .filter((id) => own.every((one) => one.id !== id))
        .map((id) => `excuses nothing of ${id}: ${difference.reason}`),
      ...difference.columns
        .filter((column) => own.every((one) => one.column !== column))
        .map((column) => `excuses no \`${column}\`: ${difference.reason}`)
    ]
  })
