/**
 * Keys as their rows contain them: complete, or in two parts when all are loaded. An unreadable row is treated as a
 * key that nobody has, and does not affect the others.
 */
import { Effect, Schema } from "effect"
import type { KeyRecord } from "../../identity/key-record.ts"
import type { OwnPart, Shared } from "./key-row.ts"

const Restrictions = Schema.Struct({
  cidrs: Schema.Array(Schema.String),
  origins: Schema.Array(Schema.String),
  filter_by: Schema.Record(Schema.String, Schema.String),
  // Rows from before these restrictions do not have them.
  fields: Schema.optionalKey(Schema.Array(Schema.String)),
  personalization: Schema.optionalKey(Schema.Boolean)
})
const decodeRestrictions = Schema.decodeUnknownSync(Restrictions)
const decodeNames = Schema.decodeUnknownSync(Schema.Array(Schema.String))

export interface KeyRow {
  readonly id: string
  readonly organization_id: string
  readonly scope: KeyRecord["scope"]
  readonly description: string
  readonly actions: unknown
  readonly collections: unknown
  readonly value_prefix: string
  readonly lookup_hash: string
  readonly sealed_digest: string | null
  readonly restrictions: unknown
  readonly rate_limit_per_minute: number
  readonly expires_at: number
  readonly created_at: number
  readonly revoked_at: number | null
  readonly autodelete: boolean
  readonly installation_id: string | null
}
const keyOfRow = (row: KeyRow): KeyRecord => ({
  id: row.id,
  organization_id: row.organization_id,
  scope: row.scope,
  description: row.description,
  actions: decodeNames(row.actions),
  collections: decodeNames(row.collections),
  value_prefix: row.value_prefix,
  lookup_hash: row.lookup_hash,
  sealed_digest: row.sealed_digest ?? undefined,
  fields: [],
  ...decodeRestrictions(row.restrictions),
  autodelete: row.autodelete,
  installation_id: row.installation_id ?? undefined,
  rate_limit_per_minute: row.rate_limit_per_minute,
  expires_at: row.expires_at,
  created_at: row.created_at,
  revoked_at: row.revoked_at ?? undefined
})

/**
 * An unreadable row is logged and treated as a revoked key, so that memory drops its previous state. The other keys
 * stay valid: stopping them all would shut out every organization.
 */
export const keysOfRows = (rows: ReadonlyArray<KeyRow>) =>
  Effect.forEach(rows, (row) =>
    Effect.catch(Effect.try({ try: () => keyOfRow(row), catch: (error) => error }), (error) =>
      Effect.as(
        Effect.logError(`The row of key ${row.id} cannot be read; the key is refused`, error),
        keyOfRow({
          ...row,
          actions: [],
          collections: [],
          restrictions: { cidrs: [], origins: [], filter_by: {} },
          sealed_digest: null,
          revoked_at: row.revoked_at ?? row.created_at
        })
      )
    )
  )

/** A key in two parts: its own part, and the shared part as one object for all keys that share it. */
export interface KeyParts {
  readonly own: OwnPart
  readonly shared: Shared
}
export interface PartsRow extends Pick<
  KeyRow,
  | "id"
  | "organization_id"
  | "description"
  | "value_prefix"
  | "lookup_hash"
  | "sealed_digest"
  | "created_at"
  | "revoked_at"
> {
  /** `SharedRow` as JSON. */ readonly shared: string
}
type SharedRow = readonly [
  scope: KeyRecord["scope"],
  actions: unknown,
  collections: unknown,
  restrictions: unknown,
  rate_limit_per_minute: number,
  expires_at: number,
  autodelete: boolean,
  installation_id: string | null
]
/** Limit of distinct shared parts cached while pages are read; the key store keeps as many. */
const SHARED_MAX = 20_000
/** The fields of a key whose row cannot be read. */
const unreadableShared = { actions: [], collections: [], restrictions: { cidrs: [], origins: [], filter_by: {} } }

const sharedOf = (text: string): Shared => {
  const [scope, actions, collections, restrictions, rate_limit_per_minute, expires_at, autodelete, installation_id] =
    JSON.parse(text) as SharedRow
  const {
    created_at: _c,
    description: _d,
    id: _i,
    lookup_hash: _l,
    organization_id: _o,
    revoked_at: _r,
    sealed_digest: _s,
    value_prefix: _v,
    ...shared
  } = keyOfRow({
    scope,
    actions,
    collections,
    restrictions,
    rate_limit_per_minute,
    expires_at,
    autodelete,
    installation_id,
    id: "",
    organization_id: "",
    description: "",
    value_prefix: "",
    lookup_hash: "",
    sealed_digest: null,
    created_at: 0,
    revoked_at: null
  })
  return shared
}

/** Reads the rows of all keys, page by page; shared parts are decoded once. */
export class PartsReader {
  readonly #known = new Map<string, Shared>()

  #sharedOf(text: string): Shared {
    let shared = this.#known.get(text)
    if (shared === undefined) {
      shared = sharedOf(text)
      if (this.#known.size < SHARED_MAX) this.#known.set(text, shared)
    }
    return shared
  }

  /** The key directly if the row can be read, otherwise an effect that logs. */
  partsOf(row: PartsRow): Effect.Effect<KeyParts> | KeyParts {
    const own: OwnPart = {
      id: row.id,
      organization_id: row.organization_id,
      description: row.description,
      value_prefix: row.value_prefix,
      lookup_hash: row.lookup_hash,
      created_at: row.created_at,
      sealed_digest: row.sealed_digest ?? undefined,
      revoked_at: row.revoked_at ?? undefined
    }
    try {
      return { own, shared: this.#sharedOf(row.shared) }
    } catch (error) {
      return Effect.as(Effect.logError(`The row of key ${row.id} cannot be read; the key is refused`, error), {
        own: { ...own, sealed_digest: undefined, revoked_at: own.revoked_at ?? own.created_at },
        shared: unreadablePart(row.shared)
      })
    }
  }

  /** Call after the last page. */
  forget(): void {
    this.#known.clear()
  }
}

/** The shared part of a key whose restrictions cannot be read: it grants no access. */
const unreadablePart = (text: string): Shared => {
  const [scope, , , , rate_limit_per_minute, expires_at, autodelete, installation_id] = JSON.parse(text) as SharedRow
  const { actions, collections, restrictions } = unreadableShared
  return sharedOf(
    JSON.stringify([
      scope,
      actions,
      collections,
      restrictions,
      rate_limit_per_minute,
      expires_at,
      autodelete,
      installation_id
    ])
  )
}
