/**
 * How a cached answer (`use_cache`) depends on rules: on the rules themselves, on the visitor if a set is only for some
 * visitors, and on which time windows are open. Pure; one small value per organization.
 */
import { parseInstant, type RuleSet } from "@dowser/engine-sdk/rules"

export interface AnswerGates {
  readonly device: boolean
  readonly language: boolean
  readonly country: boolean
  /** Unix milliseconds at which a window opens or closes. */ readonly turns: ReadonlyArray<number>
}
export const gatesOf = (ruleSets: ReadonlyArray<RuleSet>): AnswerGates => ({
  device: ruleSets.some(({ device }) => device !== "any"),
  language: ruleSets.some(({ language }) => language !== ""),
  country: ruleSets.some(({ country }) => country !== ""),
  turns: ruleSets
    .flatMap(({ ends_at, starts_at }) => [starts_at, ends_at])
    .map((text) => parseInstant(text ?? ""))
    .filter((at) => at !== undefined)
})

export interface GateVisitor {
  readonly device: string | undefined
  readonly language: string | undefined
  readonly country: string | undefined
}
/** Equal for two requests that no rule distinguishes. */
export const gatePart = (
  gates: AnswerGates,
  visitor: GateVisitor,
  now_ms: number
): ReadonlyArray<string | number | null> => [
  gates.device ? (visitor.device ?? null) : null,
  gates.language ? (visitor.language ?? null) : null,
  gates.country ? (visitor.country ?? null) : null,
  gates.turns.filter((at) => at <= now_ms).length
]
