/** Creates a key: its value, which exists only at this moment, and the row to store. */
import { Clock, Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { ConfigurationShape } from "../../configuration/configuration.ts"
import { stored } from "../../configuration/stored.ts"
import type { KeyRecord, KeyScope } from "../../identity/key-record.ts"
import type { Cap } from "../../metering/entitlements.ts"
import type { Organizations } from "../../organizations/organizations.ts"
import type { Identifiers } from "@dowser/log/identifiers"
import type { Outbox } from "@dowser/log/outbox"
import { KeyValueTaken } from "../errors.ts"
import type { Seal } from "../seal.ts"
import { digestOf, lookupHash } from "../tokens/lookup-hash.ts"
import { PARENT_LENGTH_MIN } from "../tokens/secured-key.ts"
import type { KeyStore } from "./key-store.ts"
import type { makeKeysRepository } from "./keys-repository.ts"
import { originsRefusal } from "./plan-refusals.ts"
import { SIGNERS_PER_PREFIX_MAX } from "./signer-rows.ts"

export interface NewKey {
  readonly organization_id: string
  readonly scope: KeyScope
  readonly description: string
  readonly actions: ReadonlyArray<string>
  readonly collections: ReadonlyArray<string>
  /** Chosen by the caller, otherwise generated. */ readonly value?: string
  readonly isGateway: boolean
  readonly cidrs: ReadonlyArray<string>
  readonly origins: ReadonlyArray<string>
  readonly filter_by: Readonly<Record<string, string>>
  readonly fields?: ReadonlyArray<string>
  readonly autodelete?: boolean
  /** False: no search with this key is personalized. */ readonly personalization?: boolean
  /** Only with the scope `installation`. */ readonly installation_id?: string
  readonly rate_limit_per_minute: number
  /** Unix seconds. */ readonly expires_at: number
}

/** Services for creating and revoking keys. */
export interface KeyParts {
  readonly configuration: ConfigurationShape
  readonly identifiers: Identifiers["Service"]
  readonly keys: KeyStore
  readonly organizations: Organizations["Service"]
  readonly outbox: Outbox["Service"]
  readonly repository: Effect.Success<typeof makeKeysRepository>
  readonly seal: Seal["Service"]
  readonly serviceDomain: string | undefined
}

/**
 * No more keys than this may share a new key's first characters: half of the number tried, so that several processes
 * creating keys simultaneously stay within the limit. Four of 62 characters suffice for 470 million keys.
 */
const SIGNERS_BESIDE_MAX = SIGNERS_PER_PREFIX_MAX / 2
const VALUES_TRIED_MAX = 1_000

const prefixOf = ({ isGateway, scope }: NewKey): string =>
  scope === "connector_write" ? "ss_connector_" : scope === "installation" ? "cmsk_" : isGateway ? "ss_search_" : ""

/**
 * Whether stock clients may sign with the key. A chosen value may not: many could be given the same first characters,
 * and a secured key with this prefix would be tried against all of them.
 */
const mayBeParent = (request: NewKey): boolean =>
  request.scope === "search" && request.value === undefined && prefixOf(request) === ""

/** A value whose first characters few keys share: a secured key is tried against all keys with its prefix. */
const uncrowdedValue = Effect.fnUntraced(function* ({ identifiers, keys }: KeyParts) {
  for (let tries = 0; tries < VALUES_TRIED_MAX; tries++) {
    const value = yield* identifiers.secret(PARENT_LENGTH_MIN + 4)
    if (keys.signersOf(value.slice(0, 4)) < SIGNERS_BESIDE_MAX) return value
  }
  return yield* Effect.die(
    new Error(`${VALUES_TRIED_MAX} new keys would all begin as ${SIGNERS_BESIDE_MAX} others do.`)
  )
})

const valueOf = (parts: KeyParts, request: NewKey): Effect.Effect<string> =>
  request.value !== undefined
    ? Effect.succeed(request.value)
    : mayBeParent(request)
      ? uncrowdedValue(parts)
      : Effect.map(parts.identifiers.secret(PARENT_LENGTH_MIN + 4), (secret) => prefixOf(request) + secret)

const recordOf = Effect.fnUntraced(function* ({ identifiers, seal }: KeyParts, request: NewKey, value: string) {
  const digest = digestOf(value)
  const lookup_hash = lookupHash(digest).toString("hex")
  const created_at = yield* Clock.currentTimeMillis
  const key: KeyRecord = {
    id: yield* identifiers.make("key"),
    organization_id: request.organization_id,
    scope: request.scope,
    description: request.description,
    actions: request.actions,
    collections: request.collections,
    value_prefix: value.slice(0, 4),
    lookup_hash,
    sealed_digest: mayBeParent(request) ? seal.seal(digest) : undefined,
    cidrs: request.cidrs,
    origins: request.origins,
    filter_by: request.filter_by,
    fields: request.fields ?? [],
    ...(request.personalization === false ? { personalization: false } : {}),
    autodelete: request.autodelete ?? false,
    installation_id: request.installation_id,
    rate_limit_per_minute: request.rate_limit_per_minute,
    expires_at: request.expires_at,
    created_at,
    revoked_at: undefined
  }
  return key
})

/** Stores the row and its outbound event within the plan's cap, in one transaction. */
const insert = Effect.fnUntraced(function* ({ outbox, repository }: KeyParts, key: KeyRecord, cap: Cap | undefined) {
  if (
    cap !== undefined &&
    cap.max < Infinity &&
    (yield* repository.lockListed(key.organization_id, cap.max)) >= cap.max
  )
    return yield* cap.refusal
  // Key values are unique forever, across organizations and processes.
  yield* Effect.catchTag(
    repository.insertKey(key),
    "SqlError",
    (error): Effect.Effect<never, KeyValueTaken | SqlError.SqlError> =>
      Effect.fail(
        error.reason._tag === "UniqueViolation" ? new KeyValueTaken({ message: "API key generation conflict." }) : error
      )
  )
  yield* outbox.put(key.organization_id, "api_key.created", {
    key_id: key.id,
    scope: key.scope,
    description: key.description
  })
})

export const makeCreateKey = (parts: KeyParts) =>
  Effect.fn("Access.createKey")(function* (request: NewKey, cap?: Cap) {
    const { plan } = yield* parts.organizations.get(request.organization_id)
    const refusal = originsRefusal(plan, request.origins, parts.serviceDomain)
    if (refusal !== undefined) return yield* refusal
    const value = yield* valueOf(parts, request)
    const key = yield* recordOf(parts, request, value)
    const change = { kind: "api_key", organizationId: key.organization_id, id: key.id }
    yield* stored(parts.configuration.write(change, insert(parts, key, cap)))
    return { key, value }
  })
