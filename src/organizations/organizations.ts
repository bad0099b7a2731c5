/**
 * Organizations as every request sees them: all of them in memory, re-read when a write of any process changed one
 * (`Configuration`). `Access` needs their status and plan.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Configuration } from "../configuration/configuration.ts"
import { type ConfigurationUnavailable, NotFound } from "../http/errors.ts"
import { stored } from "../configuration/stored.ts"
import { Identifiers } from "@dowser/log/identifiers"
import type { OrganizationRecord } from "./organization.ts"
import { makeOrganizationsRepository } from "./organizations-repository.ts"

const unknown = (id: string) => new NotFound({ message: `Organization ${id} does not exist.` })

export class Organizations extends Context.Service<
  Organizations,
  {
    /** From memory, current or not; undefined for an unknown one. O(1). */
    readonly find: (id: string) => OrganizationRecord | undefined
    /** The current state. */
    readonly get: (id: string) => Effect.Effect<OrganizationRecord, NotFound | ConfigurationUnavailable>
    /** The current state, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<OrganizationRecord>, ConfigurationUnavailable>
    readonly create: (name: string, plan: string) => Effect.Effect<OrganizationRecord, ConfigurationUnavailable>
    /** Changes an organization; the next request of any process sees it. */
    readonly set: (
      id: string,
      change: Partial<Pick<OrganizationRecord, "status" | "paused_reason" | "plan" | "name">>
    ) => Effect.Effect<OrganizationRecord, NotFound | ConfigurationUnavailable>
  }
>()("dowser/organizations/Organizations") {
  static readonly layer: Layer.Layer<Organizations, never, Configuration | Identifiers | SqlClient.SqlClient> =
    Layer.effect(
      Organizations,
      Effect.gen(function* () {
        const configuration = yield* Configuration
        const identifiers = yield* Identifiers
        const repository = yield* makeOrganizationsRepository
        const organizations = new Map<string, OrganizationRecord>()
        yield* configuration.keep("organization", (subjects) =>
          Effect.map(repository.organizations(subjects), (rows) => {
            if (subjects === "all") organizations.clear()
            for (const organization of rows) organizations.set(organization.id, organization)
          })
        )
        const write = <A, E>(id: string, effect: Effect.Effect<A, E>) =>
          configuration.write({ kind: "organization", organizationId: id, id }, effect)

        return Organizations.of({
          find: (id) => organizations.get(id),
          get: (id) =>
            Effect.flatMap(configuration.current, () => {
              const found = organizations.get(id)
              return found === undefined ? Effect.fail(unknown(id)) : Effect.succeed(found)
            }),
          list: Effect.map(configuration.current, () => [...organizations.values()]),
          create: Effect.fn("Organizations.create")(function* (name, plan) {
            const organization: OrganizationRecord = {
              id: yield* identifiers.make("org"),
              name,
              status: "active",
              paused_reason: undefined,
              plan,
              created_at: yield* Clock.currentTimeMillis
            }
            yield* stored(write(organization.id, repository.insert(organization)))
            return organization
          }),
          set: Effect.fn("Organizations.set")((id, change) =>
            stored(
              write(
                id,
                Effect.gen(function* () {
                  const found = yield* repository.lock(id)
                  if (found === undefined) return yield* unknown(id)
                  const next: OrganizationRecord = { ...found, ...change }
                  yield* repository.update(next)
                  return next
                })
              )
            )
          )
        })
      })
    )
}
