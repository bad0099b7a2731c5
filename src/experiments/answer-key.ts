/**
 * The part of a kept answer's key (`use_cache`) that experiments ask for: which variant the visitor is shown of each
 * that runs, and by which id, since a kept answer is accounted again for whoever gets it.
 */
import { variantOf } from "@dowser/engine-sdk/experiments"
import type { Visitor } from "../identity/visitor.ts"
import { draftOf, unitOf } from "./experiment-step.ts"
import type { ExperimentTable } from "./running-experiments.ts"

/**
 * O(running experiments of the organization), a hash or two each. An entry of a multi-search may name an id of its own:
 * the whole of it is in the key already.
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
