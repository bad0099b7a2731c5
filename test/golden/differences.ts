/**
 * Where this product differs from the recordings on purpose, with the reason and the columns that it excuses.
 * Everything else that disagrees is a defect of somebody; and so is an entry that excuses nothing any more (`idle`).
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
  /** What may disagree for that reason; any other column of the same record still counts. */
  readonly columns: ReadonlyArray<string>
  /** Records, or what they have in common. */ readonly ids?: ReadonlyArray<string>
  readonly where?: (record: GoldenRecord) => boolean
}
interface Disagreeing {
  readonly record: GoldenRecord
  /** Columns. */ readonly metrics: ReadonlyArray<string>
}

/**
 * Of two that excuse the same column of a record the first is the reason: the special ones stand before the general
 * ones.
 */
export const DIFFERENCES: ReadonlyArray<Difference> = [
  {
    reason:
      "letters of other scripts are case-folded in fields without locale, so no typo is needed (contract.md part 7)",
    columns: ["text_match"],
    ids: ["q0245.0", "q0526.0", "q2470.0"]
  },
  {
    reason:
      "the reference reads Japanese by pronunciation and marks shifted words; here words are segmented and kana folded",
    columns: ["text_match", "highlight", "highlights_v1"],
    ids: ["q2412.0", "q2414.0", "q2416.0"]
  },
  {
    reason: "highlights keep the Korean text as stored; the reference shows it decomposed",
    columns: ["highlight", "highlights_v1"],
    ids: ["q2447.0", "q2450.0", "q2454.0", "q2456.0"]
  },
  {
    reason:
      "marks stand on the letters that matched; the reference's are shifted after letters that fold to more bytes",
    columns: ["highlight", "highlights_v1"],
    ids: ["q2517.0", "q2519.0", "q2535.0"]
  },
  {
    reason: "a document without the value of a decay function sorts last; the reference fails the whole search",
    columns: ["status", "message"],
    ids: ["q1763.0"]
  },
  {
    reason: "decay functions act on decimal fields; the reference scores all their documents alike",
    columns: ["ids10", "text_match", "highlight", "highlights_v1"],
    ids: ["q1679.0", "q1680.0"]
  },
  {
    reason: "another random order for the same seed, so other hits are compared",
    columns: ["text_match", "highlight", "highlights_v1"],
    where: (record) => /sort_by=_rand/.test(decodeURIComponent(record.path))
  },
  {
    reason:
      "a preset's value is an object from the start (reference contract 16.1); the reference stores anything and fails when it is used",
    columns: ["status", "body"],
    ids: ["q3044.10"]
  },
  {
    reason: "two AND-ed joins of one collection ask for one related document that passes both",
    columns: ["ids10", "found"],
    ids: ["q2782.0"]
  },
  {
    reason: "related documents come in insertion order; the reference's order is that of a hash table",
    columns: ["ids10", "documents"],
    ids: ["q2764.0", "q2768.0", "q2771.0", "q2773.0", "q2775.0", "q2777.0", "q2779.0", "q2786.0"]
  },
  {
    reason:
      "duplicates of a union are the same document of the same collection; the reference compares insertion numbers across collections",
    columns: ["ids10", "found"],
    ids: ["q3099.0", "q3101.0", "q3138.0", "q3143.0", "q3154.0"]
  },
  {
    reason:
      "a negated join means no related document, from either side; the reference answers every document from the referring side",
    columns: ["ids10", "found"],
    ids: ["q2733.0"]
  },
  { reason: "the recorded body is not JSON, ours is", columns: ["message"], ids: ["q3008.0"] },
  {
    reason: "an integer parameter that is no unsigned integer is refused, cache_ttl too (contract.md part 7)",
    columns: ["status", "ids10", "found", "text_match", "highlight", "highlights_v1"],
    where: (record) => /[?&]cache_ttl=[^&]*[^\d&]/.test(record.path)
  },
  {
    reason: "a refused document leaves no detected field behind in the schema",
    columns: ["body"],
    ids: ["q3370.7", "q3372.6"]
  },
  {
    reason: "the sum of a number facet with groups counts every document once; the reference counts it twice",
    columns: ["facet_stats"],
    ids: ["q3392.0"]
  },
  {
    reason:
      "a group's `found_docs` counts hidden and curated documents by id, once each; the reference is off by one or two where a curation excludes or includes",
    columns: ["found"],
    ids: ["q2951.5", "q2962.6", "q2966.7", "q2971.6"]
  },
  {
    reason: "a grouped `found` is an estimate in the reference; here it is exact",
    columns: ["found"],
    where: (record) => /[?&]group_by=/.test(record.path)
  },
  {
    reason: "stopwords read back in the order they were given; the reference promises no order",
    columns: ["body"],
    ids: ["q3033.1"]
  },
  {
    reason:
      "of more than four times as many continuations of a prefix as there are candidates the reference meets only those that its heap over the radix tree brings up first; here all are looked at, equals by the alphabet",
    columns: ["ids10", "found"],
    ids: ["q0603.0", "q0607.0", "q1363.0"]
  },
  {
    reason:
      "which of several equally near words a typo may stand for fill the candidates follows the same heap; a few documents more or less are found behind the first ten",
    columns: ["found"],
    ids: ["q0290.0", "q0625.0", "q0629.0", "q0641.0"]
  },
  {
    reason:
      "the reference combines a typo of one word with candidates of the other before it drops a word, and stops at the one document that has both; here dropping finds the 106 that have one",
    columns: ["ids10", "found", "text_match", "highlight", "highlights_v1", "facets", "facet_order", "facet_stats"],
    ids: ["q1895.0"]
  },
  {
    reason:
      "a mark covers the letters that matched in the word as written; the reference cuts it by the length of another word (`Case-Ma`, `coo`, `10` for 1) or of the stem",
    columns: ["highlight", "highlights_v1"],
    ids: [
      "q1554.0",
      "q1574.0",
      "q2537.0",
      "q2555.0",
      "q2575.0",
      "q2580.0",
      "q2951.4",
      "q2951.5",
      "q2951.7",
      "q2951.8",
      "q3028.2"
    ]
  },
  {
    reason:
      "both forms of highlights mark the same letters; the reference's older form splits by the separators of the collection where the newer one uses those of the field",
    columns: ["highlights_v1"],
    ids: ["q1565.0", "q1576.0", "q1581.0"]
  },
  {
    reason:
      "equally good fields of the older highlights come in the order of their scores, then of `query_by`; the reference's prefix search inside `infix` puts the field first that it walked first",
    columns: ["highlights_v1"],
    ids: ["q0898.0"]
  },
  {
    reason:
      "of an array the element in which a word stands earliest gives the position; the reference takes the last element that it looked at",
    columns: ["ids10", "text_match"],
    ids: ["q1075.0", "q1185.0"]
  },
  {
    reason:
      "with `_text_match:asc` the documents whose only match is a prefix completion come first, as they score less; the reference scored the four as whole words",
    columns: ["ids10"],
    ids: ["q1662.0"]
  },
  {
    reason: "a field whose value is the query word for word is exact, also where words repeat (`old old …`)",
    columns: ["text_match"],
    ids: ["q2139.0", "q2146.0"]
  },
  {
    reason:
      "a form of geo filter that is documented nowhere is read as the circle or polygon it spells; the reference filters by something else",
    columns: ["ids10", "found"],
    ids: ["q1462.0", "q1464.0"]
  },
  {
    reason:
      "a geo field named without a point sorts nothing, so ties by newest first; the reference sorts by the packed coordinates",
    columns: ["ids10"],
    ids: ["q1721.0"]
  },
  {
    reason:
      "a document that only the vector found has no typo cost and no text rank; the reference shows a cost of 255 and counts a rank for it in the fusion",
    columns: ["extras"],
    ids: ["q2647.0", "q2669.0"]
  },
  {
    reason:
      "a facet over a related collection counts its documents that a match refers to; for match-all the reference counts all of them",
    columns: ["facets", "facet_order"],
    ids: ["q2755.0"]
  },
  {
    reason:
      "a synonym of several words that is only partly there counts as the words found; the reference counts the words of the longest spelling, or lets the rest of the query pass",
    columns: ["ids10", "found", "text_match", "highlight", "highlights_v1"],
    ids: ["q2906.1", "q2915.4"]
  },
  {
    reason: "`found` of a union is the exact number of different documents; the reference counts 21 of 2,334 fewer",
    columns: ["found"],
    ids: ["q3103.0"]
  }
]

const excuses = ({ columns, ids, where }: Difference, record: GoldenRecord, column: string): boolean =>
  columns.includes(column) && (ids?.includes(record.id) === true || where?.(record) === true)

/** The reasons of a record, one for each column at most, and the columns that have none. */
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
 * What of the entries excuses nothing: a whole one, a record of it, or a column. `all` is everything that disagrees in
 * a whole replay.
 */
export const idle = (
  all: ReadonlyArray<Disagreeing>,
  differences: ReadonlyArray<Difference> = DIFFERENCES
): ReadonlyArray<string> =>
  differences.flatMap((difference) => {
    // Its own work: what another one before it excuses does not count.
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
