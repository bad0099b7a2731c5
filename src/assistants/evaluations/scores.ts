/** Scores answers against what their owner expects for each question. Pure. */
import type { Answer } from "../answering/answer.ts"
import type { EvaluationCase } from "../schema.ts"

export interface CaseResult {
  readonly question: string
  readonly refused: boolean
  readonly passed: boolean
  /** Ids of the cited documents, and of the first three found. */
  readonly cited: ReadonlyArray<string>
  readonly found: ReadonlyArray<string>
  /** The parts of `must_contain` that are missing. */ readonly missing: ReadonlyArray<string>
}
/** Null if no case covers it. */
interface Scores {
  readonly cases: number
  readonly passed: number
  readonly recall_at_3: number | null
  readonly containment: number | null
  readonly citation_precision: number | null
  readonly citation_recall: number | null
  readonly refusal_precision: number | null
  readonly refusal_recall: number | null
}
const NEAREST = 3
const folded = (text: string): string => text.toLowerCase().normalize("NFKC").replace(/\s+/g, " ")

export const caseResult = (
  { must_cite = [], must_contain = [], must_refuse = false, question }: EvaluationCase,
  { citations, content, refused, sources }: Pick<Answer, "citations" | "content" | "refused" | "sources">
): CaseResult => {
  const ids = sources.map(({ document }) => String(document.id))
  const cited = [...new Set(citations.map(({ source }) => ids[source]!))]
  const text = folded(content)
  const missing = must_contain.filter((each) => !text.includes(folded(each)))
  const passed = must_refuse ? refused : !refused && missing.length === 0 && must_cite.every((id) => cited.includes(id))
  return { question, refused, passed, cited, found: ids.slice(0, NEAREST), missing }
}

const share = (part: number, of: number): number | null => (of === 0 ? null : Math.round((part / of) * 10_000) / 10_000)
const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, number) => total + number, 0)
const overlap = (some: ReadonlyArray<string>, others: ReadonlyArray<string>): number =>
  some.filter((each) => others.includes(each)).length

/** Takes cases and their results in the same order. Micro-averages: every citation counts once. */
export const scoresOf = (cases: ReadonlyArray<EvaluationCase>, results: ReadonlyArray<CaseResult>): Scores => {
  const both = cases.slice(0, results.length).map((each, place) => ({ each, result: results[place]! }))
  const citing = both.flatMap(({ each: { must_cite = [], must_refuse }, result }) =>
    must_cite.length > 0 && must_refuse !== true ? [{ wanted: must_cite, ...result }] : []
  )
  const containing = both.filter(({ each }) => (each.must_contain?.length ?? 0) > 0 && each.must_refuse !== true)
  const refusals = both.filter(({ each }) => each.must_refuse === true)
  const refused = both.filter(({ result }) => result.refused)
  const rightly = refused.filter(({ each }) => each.must_refuse === true)
  return {
    cases: both.length,
    passed: both.filter(({ result }) => result.passed).length,
    recall_at_3: share(
      sum(citing.map(({ found, wanted }) => overlap(wanted, found))),
      sum(citing.map(({ wanted }) => Math.min(NEAREST, wanted.length)))
    ),
    containment: share(containing.filter(({ result }) => result.missing.length === 0).length, containing.length),
    citation_precision: share(
      sum(citing.map(({ cited, wanted }) => overlap(cited, wanted))),
      sum(citing.map(({ cited }) => cited.length))
    ),
    citation_recall: share(
      sum(citing.map(({ cited, wanted }) => overlap(wanted, cited))),
      sum(citing.map(({ wanted }) => wanted.length))
    ),
    refusal_precision: share(rightly.length, refused.length),
    refusal_recall: share(rightly.length, refusals.length)
  }
}
