/**
 * A room as the rest of the program sees it, in one value. `src/rooms.ts` lists the rooms, and everything that
 * concerns all of them iterates over that list: server, OpenAPI documents, console, audit log, housekeeping,
 * migrations, fuzz. A new room is a folder with a `room.ts` and one line in the list.
 */
import { Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Reach } from "./identity/reach.ts"
import type { RowReader } from "./identity/row-readers.ts"
import type { Role } from "./identity/roles.ts"
import type { PlanFeature } from "./identity/plan.ts"
import type { Implemented } from "./api/implement.ts"
import type { Measure } from "./metrics/measure.ts"

/** Removes up to `rowsMax` rows that are no longer used, which takes some milliseconds; returns how many. */
export type Expiry = (rowsMax: number) => Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient>
export type ErrorSample = readonly [name: string, error: { readonly _tag: string; readonly message: string }]
export type Seeds = Readonly<Record<string, ReadonlyArray<unknown>>>
/** One forward-only step of the schema's history, in one transaction with all steps that are run with it. */
export type Migration = Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>

/**
 * `Out`: services that the room provides; `In`: what they are built from; `Needs`: what its handlers require; `Reads`:
 * what its metrics read.
 */
interface Room<Out = never, In = never, Needs = never, Reads = never> {
  /** The folder's name. */ readonly name: string
  /** Services, and background work for the lifetime of the program. Requires the rooms before it in the list. */
  readonly layer?: Layer.Layer<Out, never, In>
  /** Operations with their handlers, created once; they may require any room. */ readonly routes?: Effect.Effect<
    ReadonlyArray<Implemented>,
    never,
    Needs
  >
  /** Groups of its operations, each with its description in the documents. */ readonly groups?: Readonly<
    Record<string, string>
  >
  /**
   * Groups in which every operation calls the engine, even if only to check whether the collection exists: 503 in a
   * process without one.
   */
  readonly engineGroups?: ReadonlyArray<string>
  /** By kind: how to read the rows that the room changes, for the audit log. */
  readonly audited?: Readonly<Record<string, RowReader>>
  /**
   * By operation id: the lowest role that may use it in the console. An operation of the tenant API gets a twin there
   * (`src/console/twins.ts`).
   */
  readonly roles?: Readonly<Record<string, Role>>
  /** By operation id: which collections it accesses (`src/identity/reach.ts`). */ readonly reaches?: Readonly<
    Record<string, Reach>
  >
  /** Removals from tables that would otherwise only grow. */ readonly expiries?: ReadonlyArray<Expiry>
  /** Samples of every error that it declares: `test/http` renders each on each plane. */
  readonly errorSamples?: ReadonlyArray<ErrorSample>
  /**
   * By name: limits and features that plans include, checked by `Entitlements`; in addition to the plans' own table
   * (`src/metering/plans.ts`).
   */
  readonly features?: Readonly<Record<string, PlanFeature>>
  /** Bodies that fuzzing starts from, by operation id; for other operations it starts from the schema. */
  readonly seeds?: Seeds
  /** Metrics for operators, at `/metrics` of the admin port. */
  readonly metrics?: Effect.Effect<ReadonlyArray<Measure>, never, Reads>
  /** By date and name, `YYYYMMDDnn_name`; migrations from before rooms had their own have a four-digit number. */
  readonly migrations?: Readonly<Record<string, Migration>>
}

type AnyRoom = Pick<
  Room<unknown, unknown, unknown, unknown>,
  | "name"
  | "engineGroups"
  | "audited"
  | "roles"
  | "errorSamples"
  | "expiries"
  | "features"
  | "groups"
  | "reaches"
  | "seeds"
  | "migrations"
> & {
  readonly layer?: Layer.Layer<never, never, never>
  readonly routes?: Effect.Effect<ReadonlyArray<Implemented>, never, never>
  readonly metrics?: Effect.Effect<ReadonlyArray<Measure>, never, never>
}

/**
 * Rooms in an order in which each finds what it needs: `Provided` is what the rooms so far provide, on top of
 * `Ground`. Any other order does not compile.
 */
export class RoomList<Ground, Provided, Needs> {
  readonly all: ReadonlyArray<AnyRoom>
  private constructor(all: ReadonlyArray<AnyRoom>) {
    this.all = all
  }
  static readonly over = <Ground>(): RoomList<Ground, Ground, never> => new RoomList<Ground, Ground, never>([])
  with<Out, In extends Provided, RoomNeeds, Reads>(
    room: Room<Out, In, RoomNeeds, Reads>
  ): RoomList<Ground, Provided | Out, Needs | RoomNeeds | Reads> {
    if (this.all.some(({ name }) => name === room.name)) throw new Error(`Two rooms are called ${room.name}.`)
    return new RoomList([...this.all, room as unknown as AnyRoom])
  }
  /** All services, built in the order of the list. */
  get layer(): Layer.Layer<Provided, never, Ground> {
    const built = this.all.reduce(
      (below, { layer }) => (layer === undefined ? below : Layer.provideMerge(layer, below)),
      Layer.empty as Layer.Layer<never, never, never>
    )
    return built as unknown as Layer.Layer<Provided, never, Ground>
  }
  /** Every operation with its handler, in the order of the list. */
  get routes(): Effect.Effect<ReadonlyArray<Implemented>, never, Needs> {
    return Effect.map(
      Effect.forEach(this.all, ({ routes }) => routes ?? Effect.succeed([])),
      (made) => made.flat()
    )
  }
  /** Every measure, in the order of the list; it is a mistake if two rooms provide the same name. */
  get metrics(): Effect.Effect<ReadonlyArray<Measure>, never, Needs> {
    return Effect.map(
      Effect.forEach(this.all, ({ metrics }) => metrics ?? Effect.succeed([])),
      (made) => {
        const measures = made.flat()
        const names = measures.map(({ name }) => name)
        const twice = names.find((name, i) => names.indexOf(name) !== i)
        if (twice !== undefined) throw new Error(`Two rooms measure ${twice}.`)
        return measures
      }
    )
  }
  /** One table of what each room declares in `field`; it is a mistake if two rooms declare the same name. */
  table<F extends "audited" | "features" | "groups" | "migrations" | "reaches" | "roles" | "seeds">(
    field: F
  ): ReadonlyMap<string, NonNullable<AnyRoom[F]>[string]> {
    const table = new Map<string, NonNullable<AnyRoom[F]>[string]>()
    for (const room of this.all) {
      for (const [name, value] of Object.entries(room[field] ?? {})) {
        if (table.has(name)) throw new Error(`The room ${room.name} says ${field} of ${name} again.`)
        table.set(name, value as NonNullable<AnyRoom[F]>[string])
      }
    }
    return table
  }
}

/** Only for type inference. */
export const defineRoom = <Out = never, In = never, Needs = never, Reads = never>(
  room: Room<Out, In, Needs, Reads>
): Room<Out, In, Needs, Reads> => room
