/**
 * Reduces the probes' results to one word. Pure.
 *
 *   ok        every part works
 *   degraded  searches are answered, but something else does not work: events, figures, configuration
 *   down      the engine does not respond
 *
 * Decision: only `down` is a 503. Searches need neither Postgres nor the log, so a load balancer that removed the
 * program because of them would turn a small failure into a large one; `degraded` is reported in a 200.
 */
export interface Finding {
  readonly part:
    | "engine"
    | "event_log"
    | "streams"
    | "postgres"
    | "organizations"
    | "recommendations"
    | "models"
    | "health"
  readonly ok: boolean
  /** One sentence. */
  readonly detail: string
}
/** Formats milliseconds for people. */
export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

export type Verdict = "ok" | "degraded" | "down"

export const verdictOf = (findings: ReadonlyArray<Finding>): Verdict => {
  const failed = findings.filter(({ ok }) => !ok)
  return failed.length === 0 ? "ok" : failed.some(({ part }) => part === "engine") ? "down" : "degraded"
}

/** Parts that changed between two checks, as lines for the log. */
export const changesOf = (before: ReadonlyArray<Finding>, now: ReadonlyArray<Finding>): ReadonlyArray<Finding> =>
  now.filter(({ ok, part }) => (before.find((finding) => finding.part === part)?.ok ?? true) !== ok)

/** Limit of rows counted for one figure: a larger backlog is a problem in any case. */
export const FIGURES_MAX = 10_000

/** What was lost or retried so far; the operator is notified when it grows. */
export interface Losses {
  readonly worker_restarts: number
  readonly processor_restarts: number
  readonly dead_letters: number
  readonly records_lost: number
  readonly reports_dropped: number
}
const sentences: Record<keyof Losses, string> = {
  worker_restarts: "restarts of the stream worker",
  processor_restarts: "restarts of processors",
  dead_letters: "dead letters",
  records_lost: "records that retention removed before they were counted",
  reports_dropped: "reports of answered searches dropped because the log could not keep up"
}

/** Undefined if nothing grew. Counts of processors restart at zero with the worker's thread. */
export const growthOf = (before: Losses, now: Losses): string | undefined => {
  const grown = (Object.keys(sentences) as Array<keyof Losses>)
    .filter((name) => now[name] > before[name])
    .map((name) => `${now[name] - before[name]} ${sentences[name]}`)
  return grown.length === 0 ? undefined : grown.join(", ")
}
