/**
 * The table through which processes share partitions. Adapters: Postgres here, over `leases.ts`; the simulation's in
 * `test/support/simulation`.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { UnitLease, Member, Unit } from "../offsets/assignment.ts"
import {
  announceMember,
  claimLease,
  type LeaseHeld,
  liveMembers,
  readLeases,
  releaseLease,
  renewLeases,
  retireMember
} from "./leases.ts"
import type { Progress } from "../runner/options.ts"

type Answer<A> = Effect.Effect<A, SqlError.SqlError>

/** Times are the store's own; see `leases.ts` for each. */
export interface LeaseStoreShape {
  readonly announce: (member: Member, lease_ms: number) => Answer<void>
  readonly retire: (member: string) => Answer<void>
  readonly liveMembers: Answer<ReadonlyArray<Member>>
  readonly all: Answer<ReadonlyArray<UnitLease & { readonly progress: Progress | undefined }>>
  readonly renew: (owner: string, leases: ReadonlyArray<LeaseHeld>, lease_ms: number) => Answer<ReadonlyArray<Unit>>
  readonly claim: (owner: string, unit: Unit, lease_ms: number) => Answer<number | undefined>
  readonly release: (owner: string, unit: Unit & { readonly fence: number }) => Answer<void>
}

export class LeaseStore extends Context.Service<LeaseStore, LeaseStoreShape>()("dowser/streams/LeaseStore") {
  static readonly layerPostgres: Layer.Layer<LeaseStore, never, SqlClient.SqlClient> = Layer.effect(
    LeaseStore,
    Effect.map(SqlClient.SqlClient, (sql) => {
      const withSql = Effect.provideService(SqlClient.SqlClient, sql)
      return LeaseStore.of({
        announce: (member, lease_ms) => withSql(announceMember(member, lease_ms)),
        retire: (member) => withSql(retireMember(member)),
        liveMembers: withSql(liveMembers),
        all: withSql(readLeases),
        renew: (owner, leases, lease_ms) => withSql(renewLeases(owner, leases, lease_ms)),
        claim: (owner, unit, lease_ms) => withSql(claimLease(owner, unit, lease_ms)),
        release: (owner, unit) => withSql(releaseLease(owner, unit))
      })
    })
  )
}
