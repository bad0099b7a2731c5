/**
 * All keys, cached in memory and re-read after a write by any process (`Configuration`). This file is the interface
 * for the rest of the program; `check/resolve-key.ts` finds the key for a presented text, `check/decision.ts` decides
 * what a key may do, and `keys/` creates and revokes keys.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Configuration } from "../configuration/configuration.ts"
import type { ConfigurationUnavailable, NotFound, Throttled, Unauthorized } from "../http/errors.ts"
import type { Caller } from "../identity/caller.ts"
import { KnownProfiles } from "../identity/known-profiles.ts"
import { type KeyRecord, RATE_LIMIT_DEFAULT } from "../identity/key-record.ts"
import type { Cap } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { Organizations } from "../organizations/organizations.ts"
import { Counters } from "../ports/counter/counter.ts"
import { Identifiers } from "@dowser/log/identifiers"
import { Outbox } from "@dowser/log/outbox"
import { type CheckParts, makeCheck, makeTakeTokens } from "./check/check-request.ts"
import type { Refusal } from "./check/decision.ts"
import { makeFailedKeys } from "./check/failed-keys.ts"
import type { Presented } from "../identity/presented.ts"
import { rateCounter } from "./check/rate.ts"
import type { KeyNotFound, KeyValueTaken } from "./errors.ts"
import { type KeyParts, makeCreateKey, type NewKey } from "./keys/create-key.ts"
import { type KeyStore, makeKeyStore } from "./keys/key-store.ts"
import { makeKeysRepository } from "./keys/keys-repository.ts"
import { loadKeys } from "./keys/load-keys.ts"
import { originsRefusal } from "./keys/plan-refusals.ts"
import { keyNotFound, makeDeleteExpired, revoke } from "./keys/revoke-key.ts"
import { Seal } from "./seal.ts"
import { type BrowserKey, signBrowserKey } from "./tokens/browser-key.ts"
import { type ScopedToken, signScopedToken } from "./tokens/scoped-token.ts"
import { makeSigningKeys } from "./tokens/signing-keys.ts"

export type { NewKey }
export { RATE_LIMIT_DEFAULT }
/** Year 4021, the reference engine's value for "never". */
export const NEVER_EXPIRES = 64_723_363_199

interface AccessOptions {
  /** The domain whose subdomains free organizations may list as origins of keys; without it they may list none. */
  readonly serviceDomain?: string | undefined
}

/** Keys that lists show; an installation's key is shown only with its installation. */
const isListed = (key: KeyRecord, organizationId: string): boolean =>
  key.organization_id === organizationId && key.revoked_at === undefined && key.scope !== "installation"

/** Loads and caches all keys. A key whose seal cannot be opened is still valid, but keys signed with it are not. */
const keepKeys = Effect.gen(function* () {
  const configuration = yield* Configuration
  const seal = yield* Seal
  const repository = yield* makeKeysRepository
  const services = yield* Effect.context<never>()
  const keys = makeKeyStore((sealed, keyId) => {
    try {
      return seal.open(sealed)
    } catch (error) {
      Effect.runSyncWith(services)(
        Effect.logError(`The signing secret of key ${keyId} cannot be opened; keys derived from it are refused`, error)
      )
      return undefined
    }
  })
  yield* configuration.keep("api_key", loadKeys(repository, keys))
  return { keys, repository }
})

/** Looks up an organization's keys by name, and revokes them. */
const makeNamedKeys = (parts: KeyParts, keys: KeyStore) => {
  const getKey = (organizationId: string, id: string): Effect.Effect<KeyRecord, KeyNotFound> =>
    Effect.suspend(() => {
      const key = keys.byId(id)
      return key !== undefined && isListed(key, organizationId) ? Effect.succeed(key) : Effect.fail(keyNotFound())
    })
  return {
    getKey,
    listKeys: (organizationId: string): ReadonlyArray<KeyRecord> =>
      keys
        .ofOrganization(organizationId)
        .filter((key) => isListed(key, organizationId))
        .reverse(),
    revokeKey: Effect.fn("Access.revokeKey")((organizationId: string, id: string) =>
      Effect.flatMap(getKey(organizationId, id), (key) => revoke(parts, key))
    ),
    revokeInstallationKey: Effect.fn("Access.revokeInstallationKey")(function* (
      organizationId: string,
      installationId: string
    ) {
      const key = keys
        .ofOrganization(organizationId)
        .find(({ installation_id, revoked_at }) => installation_id === installationId && revoked_at === undefined)
      return yield* key === undefined ? keyNotFound() : revoke(parts, key)
    })
  }
}

/** Signs keys that are not stored: browser keys and scoped tokens. */
const makeMinting = (
  { identifiers, organizations, serviceDomain }: KeyParts,
  signingKeys: Effect.Success<typeof makeSigningKeys>
) => ({
  mintBrowserKey: Effect.fn("Access.mintBrowserKey")(function* (key: Omit<BrowserKey, "id" | "created_at">) {
    const signer = yield* signingKeys.get(key.organization_id)
    const plan = organizations.find(key.organization_id)?.plan ?? ""
    const refusal = originsRefusal(plan, key.origins, serviceDomain)
    if (refusal !== undefined) return yield* refusal
    const own = { id: yield* identifiers.make("key"), created_at: yield* Clock.currentTimeMillis }
    return signBrowserKey({ ...key, ...own }, signer)
  }),
  mintScopedToken: (token: ScopedToken) =>
    Effect.map(signingKeys.get(token.organization_id), (signer) => signScopedToken(token, signer))
})

export class Access extends Context.Service<
  Access,
  {
    /**
     * The first refusal (`docs/contract/errors.md#order-of-refusals`), or the caller. O(1) for plain keys; at most 64
     * signatures for secured ones. Also ensures that all configuration is current.
     */
    readonly check: (presented: Presented) => Effect.Effect<Caller, Unauthorized | Refusal | ConfigurationUnavailable>
    /** Takes more tokens of the key's minute, for a request that counts as several: all of them or 429. */
    readonly takeTokens: (caller: Caller, tokens: number) => Effect.Effect<void, Throttled>
    /**
     * The only moment at which the plaintext exists. If several requests compete for the last slot below the cap, one
     * succeeds.
     */
    readonly createKey: (
      key: NewKey,
      cap?: Cap
    ) => Effect.Effect<
      { readonly key: KeyRecord; readonly value: string },
      KeyValueTaken | NotFound | FeatureNotInPlan | ConfigurationUnavailable
    >
    readonly listKeys: (organizationId: string) => ReadonlyArray<KeyRecord>
    readonly getKey: (organizationId: string, id: string) => Effect.Effect<KeyRecord, KeyNotFound>
    /** The next request with the key is refused; the row and its hash are kept for audit. */
    readonly revokeKey: (
      organizationId: string,
      id: string
    ) => Effect.Effect<KeyRecord, KeyNotFound | ConfigurationUnavailable>
    /** Revokes the key of a CMS installation, which no list of keys shows, together with its installation. */
    readonly revokeInstallationKey: (
      organizationId: string,
      installationId: string
    ) => Effect.Effect<KeyRecord, KeyNotFound | ConfigurationUnavailable>
    /**
     * Removes expired keys with `autodelete` from the lists; returns how many. Their rows and hashes are kept for
     * audit.
     */
    readonly deleteExpired: Effect.Effect<number, ConfigurationUnavailable>
    /** Costs one signature and stores nothing, except that an organization's first creates its signing key. */
    readonly mintBrowserKey: (
      key: Omit<BrowserKey, "id" | "created_at">
    ) => Effect.Effect<string, FeatureNotInPlan | ConfigurationUnavailable>
    readonly mintScopedToken: (token: ScopedToken) => Effect.Effect<string, ConfigurationUnavailable>
  }
>()("dowser/access/Access") {
  static readonly layerWith = ({
    serviceDomain
  }: AccessOptions): Layer.Layer<
    Access,
    never,
    Configuration | Organizations | Counters | SqlClient.SqlClient | Identifiers | Outbox | Seal
  > =>
    Layer.effect(
      Access,
      Effect.gen(function* () {
        const configuration = yield* Configuration
        const organizations = yield* Organizations
        const rates = yield* (yield* Counters).open(rateCounter)
        const signingKeys = yield* makeSigningKeys
        const { keys, repository } = yield* keepKeys
        const profiles = yield* KnownProfiles
        const parts: KeyParts = {
          configuration,
          identifiers: yield* Identifiers,
          keys,
          organizations,
          outbox: yield* Outbox,
          repository,
          seal: yield* Seal,
          serviceDomain
        }
        const checked: CheckParts = {
          configuration,
          known: { keys, signingKeyOf: signingKeys.find, failedKeys: makeFailedKeys(), hasProfile: profiles.has },
          organizationOf: organizations.find,
          rates,
          serviceDomain
        }
        return Access.of({
          check: makeCheck(checked),
          takeTokens: makeTakeTokens(checked),
          createKey: makeCreateKey(parts),
          ...makeNamedKeys(parts, keys),
          deleteExpired: makeDeleteExpired(parts)(),
          ...makeMinting(parts, signingKeys)
        })
      })
    )
  static readonly layer = Access.layerWith({})
}
