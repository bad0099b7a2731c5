/**
 * One probe per part: it describes the part's state while it is well, or fails with a sentence about the problem. A
 * probe is not limited in time; `Looks` limits it.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { EventLog } from "@dowser/log/event-log/event-log"
import type { StreamWorker } from "@dowser/streams/host/host"
import type { Damages } from "../configuration/damages.ts"
import type { Engine, EngineCircuits } from "../ports/engine/engine.ts"
import type { Models } from "../models/models.ts"
import type { RecommendModels } from "../recommendation-models/live/recommend-models.ts"
import { seconds } from "./verdict.ts"

export type Probe = Effect.Effect<string, { readonly message: string }>

const DAMAGED_LISTED_MAX = 10

/** Refused searches are not answered. Half open is well, because without requests nothing would close it. */
export const engineProbe = (engine: Engine["Service"], circuits: () => EngineCircuits): Probe =>
  Effect.flatMap(
    Effect.promise(async () => engine.health()),
    (health) => {
      if (!health.ok) return Effect.fail(health.error)
      return circuits().reads === "open"
        ? Effect.fail({ message: "did not answer searches, which are refused for some seconds" })
        : Effect.succeed("answers")
    }
  )

export const eventLogProbe = (log: EventLog["Service"]): Probe => Effect.as(log.health, "takes records")

export const postgresProbe = (sql: SqlClient.SqlClient): Probe => Effect.as(sql`SELECT 1`, "answers")

/** `onLag` is called with how far the streams lag, in milliseconds, as soon as that is known. */
export const streamsProbe = (
  streams: StreamWorker["Service"],
  lagMax_ms: number,
  onLag: (lag_ms: number) => void
): Probe =>
  Effect.flatMap(streams.lag_ms, (lag_ms) => {
    onLag(lag_ms)
    return lag_ms <= lagMax_ms
      ? Effect.succeed(`${seconds(lag_ms)} behind`)
      : Effect.fail({ message: `the oldest record that is not counted yet waits for ${seconds(lag_ms)}` })
  })

/** Catching up for longer is reported, because until it is done, responses contain only the newest documents. */
const CATCHING_UP_MS = 5_000
export const recommendationsProbe = (models: RecommendModels["Service"]): Probe =>
  Effect.flatMap(models.state, ({ behind_ms, isCaughtUp, records_behind }) =>
    isCaughtUp || behind_ms < CATCHING_UP_MS
      ? Effect.succeed("follows the events")
      : Effect.fail({
          message: `has not caught up with the events for ${seconds(behind_ms)} (${records_behind} records behind); answers are the newest documents`
        })
  )

/** Without models, the program does everything else. */
export const modelsProbe = (models: Models["Service"]): Probe => Effect.sync(models.detail)

/** Unreadable organizations, listed up to a maximum length. */
export const organizationsProbe = (damages: Damages, engine: Engine["Service"]): Probe =>
  Effect.suspend(() => {
    const damaged = [
      ...damages.list(),
      ...(engine.damaged?.() ?? [])
        .filter(({ collection, namespace }) => collection !== undefined || namespace === "")
        .map(({ message, namespace }) => ({
          organizationId: namespace === "" ? "an organization that cannot be told" : namespace,
          reason: message
        }))
    ]
    if (damaged.length === 0) return Effect.succeed("all are read")
    const listed = damaged
      .slice(0, DAMAGED_LISTED_MAX)
      .map(({ organizationId, reason }) => `${organizationId}: ${reason}`)
      .join(" ")
    return Effect.fail({
      message: `${new Set(damaged.map(({ organizationId }) => organizationId)).size} cannot be read and are refused. ${listed}${damaged.length > DAMAGED_LISTED_MAX ? " …" : ""}`
    })
  })
