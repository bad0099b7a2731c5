/** `dowser status`: how a running Dowser is. Ends with exit code 1 when it is down. */
import { Effect } from "effect"
import type { Status } from "../health/contract.ts"
import { StartRefused } from "../runtime/data-folder.ts"
import { callOperator, resolveTarget, type TargetFlags } from "./target.ts"

type StatusAnswer = typeof Status.Type

/** One line a part, then what was lost, then the partitions. */
export const statusLines = ({ partitions, parts, status, version, ...counts }: StatusAnswer): ReadonlyArray<string> => [
  `Dowser ${version}: ${status}`,
  ...parts.map(({ detail, name, ok }) => `  ${ok ? "ok  " : "FAIL"}  ${name.padEnd(10)} ${detail}`),
  `  ${counts.worker_restarts} worker restarts, ${counts.processor_restarts} processor restarts, ${counts.dead_letters} dead letters, ${counts.records_lost} records lost, ${counts.reports_dropped} search reports dropped`,
  ...partitions.map(({ group, is_replaying, partition, records_behind, ...counted }) =>
    `  ${group}/${partition}: ${is_replaying ? "rebuilding its state, " : ""}${records_behind} records behind, ${counted.entries} entries (${counted.dropped} dropped)`)
]

export const status = Effect.fn("cli.status")(function*(flags: TargetFlags & { readonly json: boolean }) {
  const answer = (yield* callOperator(yield* resolveTarget(flags), "GET", "/status")) as StatusAnswer
  process.stdout.write(flags.json ? `${JSON.stringify(answer)}\n` : `${statusLines(answer).join("\n")}\n`)
  if (answer.status === "down") return yield* Effect.fail(new StartRefused("Searches cannot be answered; the log of the running program says why."))
})
