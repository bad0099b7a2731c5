/**
 * The part of a cached response's key (`use_cache`) that experiments contribute: which variant of each running
 * experiment the visitor sees, and under which id, because a cached response is counted again for each visitor.
 */
import { variantOf } from "@dowser/engine-sdk/experiments"
import type { Visitor } from "../identity/visitor.ts"
import { draftOf, unitOf } from "./experiment-step.ts"
import type { ExperimentTable } from "./running-experiments.ts"

/**
 * O(running experiments of the organization), with one or two hashes each. An entry of a multi-search may name its
 * own id, and its entire text is already part of the key.
 */
export const answerKeyOf = (
  table: ExperimentTable,
  organizationId: string,
  parameters: Readonly<Record<string, string>>,
  visitor: Visitor,
  now_ms: number
): ReadonlyArray<unknown> => {
  const drawn: Array<unknown> = []
  for (const experiment of table.all(organizationId)) {
    const unit = unitOf(experiment, { parameters, sessionId: visitor.session_id })
    const variant = unit === undefined ? undefined : variantOf(experiment, unit.id)
    drawn.push(
      unit === undefined
        ? null
        : [
            unit.kind,
            variant !== undefined && experiment.isInterleaved ? draftOf(experiment, unit.id) : (variant ?? null)
          ]
    )
  }
  return [...table.gatesKey(organizationId, visitor, now_ms), ...drawn]
}
