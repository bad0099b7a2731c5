/** `dowser status`: the state of a running Dowser. Exits with 1 if it is down. */
import { Effect } from "effect"
import { FIGURES_MAX } from "../health/verdict.ts"
import type { Status } from "../health/contract.ts"
import { StartRefused } from "../runtime/data-folder.ts"
import { callOperator, resolveTarget, type TargetFlags } from "./target.ts"

type StatusAnswer = typeof Status.Type

const figure = (count: number): string => (count >= FIGURES_MAX ? `${FIGURES_MAX} or more` : String(count))

/** One line per part, then losses, then the partitions. */
export const statusLines = ({
  engine_circuits,
  partitions,
  parts,
  status,
  version,
  webhooks,
  ...counts
}: StatusAnswer): ReadonlyArray<string> => [
  `Dowser ${version}: ${status}`,
  ...parts.map(({ detail, name, ok }) => `  ${ok ? "ok  " : "FAIL"}  ${name.padEnd(10)} ${detail}`),
  ...(["reads", "writes"] as const)
    .filter((name) => engine_circuits[name] !== "closed")
    .map((name) => `  engine: the circuit for ${name} is ${engine_circuits[name].replace("_", " ")}`),
  `  ${counts.worker_restarts} worker restarts, ${counts.processor_restarts} processor restarts, ${counts.dead_letters} dead letters, ${counts.records_lost} records lost, ${counts.reports_dropped} search reports dropped`,
  ...partitions.map(
    ({ entries_per_second, group, is_replaying, partition, records_behind, ...counted }) =>
      `  ${group}/${partition}: ${is_replaying ? "rebuilding its state, " : ""}${records_behind} records behind, ${counted.entries} entries (${counted.dropped} dropped), ${entries_per_second}/s, ${counted.restarts} restarts, ${counted.dead_letters} dead letters`
  ),
  ...(counts.streams_lag_seconds === null ? ["  how far figures are behind cannot be read"] : []),
  ...(webhooks === null
    ? ["  what waits of webhooks is not counted"]
    : [
        `  webhooks: ${figure(webhooks.deliveries_pending)} deliveries wait, ${figure(webhooks.deliveries_failed)} failed, ${figure(webhooks.outbox_waiting)} events to be spread`
      ])
]

export const status = Effect.fn("cli.status")(function* (flags: TargetFlags & { readonly json: boolean }) {
  const answer = (yield* callOperator(yield* resolveTarget(flags), "GET", "/status")) as StatusAnswer
  process.stdout.write(flags.json ? `${JSON.stringify(answer)}\n` : `${statusLines(answer).join("\n")}\n`)
  if (answer.status === "down")
    return yield* Effect.fail(new StartRefused("Searches cannot be answered; the log of the running program says why."))
})
