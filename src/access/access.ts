/**
 * Keys and organizations as every request sees them: one in-process snapshot, read again where a write of any process
 * changed it (`Configuration`).
 * Creating and revoking happen here; what a key may do is `decision.ts`.
 */
import { createHash } from "node:crypto"
import { Clock, Context, Effect, Fiber, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { Configuration } from "../configuration/configuration.ts"
import type { ConfigurationUnavailable } from "../configuration/errors.ts"
import { Outbox } from "../../log/outbox.ts"
import { Counters, type Taken } from "../ports/counter/counter.ts"
import type { Cap } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { NotFound, Throttled, Unauthorized } from "../http/errors.ts"
import type { Scope } from "../http/operation.ts"
import {
  type BrowserKey,
  browserKeyPrefix,
  recordOfBrowserKey,
  signBrowserKey,
  verifyBrowserKey
} from "./tokens/browser-key.ts"
import type { Caller } from "../identity/caller.ts"
import { decide, type Refusal, tooFast } from "./check/decision.ts"
import { KeyNotFound, KeyValueTaken } from "./errors.ts"
import { makeFailedKeys } from "./check/failed-keys.ts"
import { type KeyRecord, type KeyScope, rateLimitDefault } from "../identity/key-record.ts"
import { makeKeyStore, SIGNERS_PER_PREFIX_MAX } from "./keys/key-store.ts"
import { makeKeysRepository, type OrganizationRecord } from "./keys/keys-repository.ts"
import { originsRefusal } from "./keys/plan-refusals.ts"
import { rateBudget, rateCounter, rateOf } from "./check/rate.ts"
import { type ScopedToken, scopedTokenPrefix, signScopedToken, verifyScopedToken } from "./tokens/scoped-token.ts"
import { Seal } from "./seal.ts"
import { isSignedBy, parentLengthMin, parseSecuredKey, securedKeyLengthMax } from "./tokens/secured-key.ts"

/** What the edge knows of a request before its body. */
export interface Presented {
  readonly key: string | undefined
  readonly scope: Scope
  readonly address: string
  readonly origin: string | undefined
  readonly collection: string | undefined
  /** The operation is for keys that reach every collection (`reach.ts`). */ readonly isOfAll?: boolean
  readonly sessionId: string | undefined
  readonly isRateFree: boolean
  /** On the search gateway, the one place for scoped tokens. */ readonly isGateway: boolean
  /**
   * Called as soon as the key is known, and again when it was counted: what the answer's headers say, refusal or not.
   */
  readonly onKey?: (key: Pick<KeyRecord, "origins">, rate: Caller["rate"]) => void
}

export interface NewKey {
  readonly organization_id: string
  readonly scope: KeyScope
  readonly description: string
  readonly actions: ReadonlyArray<string>
  readonly collections: ReadonlyArray<string>
  /** Chosen by the caller, else made. */ readonly value?: string
  readonly isGateway: boolean
  readonly cidrs: ReadonlyArray<string>
  readonly origins: ReadonlyArray<string>
  readonly filter_by: Readonly<Record<string, string>>
  readonly fields?: ReadonlyArray<string>
  readonly autodelete?: boolean
  /** With the scope `installation`. */ readonly installation_id?: string
  readonly rate_limit_per_minute: number
  /** Unix seconds. */ readonly expires_at: number
}

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()
/** What a key is found by. Not the digest itself, by which secured keys are signed: that one is only stored sealed. */
export const lookupHash = (digest: Buffer): Buffer =>
  createHash("sha256").update("dowser look-up").update(digest).digest()
const lastId = (page: ReadonlyArray<{ readonly own: { readonly id: string } }>): string =>
  page.reduce((last, { own: { id } }) => (id > last ? id : last), "")
/**
 * A new key begins as no more than so many others do: half of what is tried, so that several processes that make keys
 * at once stay within it. With four of 62 characters there is room for 470 million keys.
 */
const SIGNERS_BESIDE_MAX = SIGNERS_PER_PREFIX_MAX / 2
const VALUES_TRIED_MAX = 1_000
/** Rows of one statement when all keys are read. */
const KEYS_PAGE = 5_000

export { rateLimitDefault }
/** Year 4021: "never", as the reference engine writes it (reference contract 18.1). */
export const neverExpires = 64_723_363_199

export interface AccessOptions {
  /** Whose subdomains keys of free organizations may list as origins; none without it. */ readonly serviceDomain?:
    | string
    | undefined
}

/** Characters of an organization's signing key: more than the 256 bits of its HMAC. */
const signingKeyLength = 48
/** What lists of keys show: an installation's key belongs to its installation. */
const isListed = (key: KeyRecord, organizationId: string): boolean =>
  key.organization_id === organizationId && key.revoked_at === undefined && key.scope !== "installation"

export class Access extends Context.Service<
  Access,
  {
    /**
     * The first refusal in the contract's order, or who asks. O(1) for plain keys; for secured ones at most 64
     * signatures. Also makes sure that all configuration is of now.
     */
    readonly check: (presented: Presented) => Effect.Effect<Caller, Unauthorized | Refusal | ConfigurationUnavailable>
    /** More tokens of the key's minute, for a request that is several: all of them or 429. */
    readonly takeTokens: (caller: Caller, tokens: number) => Effect.Effect<void, Throttled>
    readonly createOrganization: (
      name: string,
      plan: string
    ) => Effect.Effect<OrganizationRecord, ConfigurationUnavailable>
    readonly organizations: Effect.Effect<ReadonlyArray<OrganizationRecord>, ConfigurationUnavailable>
    readonly setOrganization: (
      id: string,
      change: Partial<Pick<OrganizationRecord, "status" | "paused_reason" | "plan" | "name">>
    ) => Effect.Effect<OrganizationRecord, NotFound | ConfigurationUnavailable>
    /** The only moment at which the plaintext exists. Of several at the last place below the cap one passes. */
    readonly createKey: (
      key: NewKey,
      cap?: Cap
    ) => Effect.Effect<
      { readonly key: KeyRecord; readonly value: string },
      KeyValueTaken | NotFound | FeatureNotInPlan | ConfigurationUnavailable
    >
    readonly listKeys: (organizationId: string) => ReadonlyArray<KeyRecord>
    readonly getKey: (organizationId: string, id: string) => Effect.Effect<KeyRecord, KeyNotFound>
    /** The next request with the key is refused; the row and its hash stay for audit. */
    readonly revokeKey: (
      organizationId: string,
      id: string
    ) => Effect.Effect<KeyRecord, KeyNotFound | ConfigurationUnavailable>
    /** The key of a CMS installation, which no list of keys shows, is revoked with its installation. */
    readonly revokeInstallationKey: (
      organizationId: string,
      installationId: string
    ) => Effect.Effect<KeyRecord, KeyNotFound | ConfigurationUnavailable>
    /**
     * Keys that said `autodelete` and have expired leave the lists; answers how many. Their rows and hashes stay for
     * audit.
     */
    readonly deleteExpired: Effect.Effect<number, ConfigurationUnavailable>
    /** Signed, not stored: a signature, but for an organization's first, which makes its signing key. */
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
    Configuration | Counters | SqlClient.SqlClient | Identifiers | Outbox | Seal
  > =>
    Layer.effect(
      Access,
      Effect.gen(function* () {
        const configuration = yield* Configuration
        const repository = yield* makeKeysRepository
        const identifiers = yield* Identifiers
        const outbox = yield* Outbox
        const seal = yield* Seal
        const rates = yield* (yield* Counters).open(rateCounter)

        const organizations = new Map<string, OrganizationRecord>()
        const services = yield* Effect.context<never>()
        /** A seal that does not open: the key itself still counts, and what is signed with it does not. */
        const keys = makeKeyStore((sealed, keyId) => {
          try {
            return seal.open(sealed)
          } catch (error) {
            Effect.runSyncWith(services)(
              Effect.logError(`What key ${keyId} signs with cannot be opened; keys that it signed are refused`, error)
            )
            return undefined
          }
        })
        const signingKeys = new Map<string, Uint8Array>()
        yield* configuration.keep("organization", (subjects) =>
          Effect.map(
            Effect.all([repository.organizations(subjects), repository.signingKeys(subjects)]),
            ([rows, sealed]) => {
              configuration.damages.forget("organization", subjects)
              if (subjects === "all") organizations.clear()
              for (const organization of rows) organizations.set(organization.id, organization)
              // Made once, never changed.
              for (const { organization_id, sealed_key } of sealed) {
                if (signingKeys.has(organization_id)) continue
                try {
                  signingKeys.set(organization_id, seal.open(sealed_key))
                } catch (error) {
                  configuration.damages.note(
                    "organization",
                    { organizationId: organization_id, id: organization_id },
                    "Its signing key does not open: it is damaged, or sealed with another operator's key."
                  )
                  Effect.runSyncWith(services)(
                    Effect.logError(
                      `The signing key of ${organization_id} cannot be opened; the organization is refused`,
                      error
                    )
                  )
                }
              }
            }
          )
        )
        // Rows of keys stay for audit, so none has to be forgotten by its absence.
        yield* configuration.keep(
          "api_key",
          Effect.fnUntraced(function* (subjects) {
            if (subjects !== "all") {
              for (const key of yield* repository.keys(subjects)) keys.put(key)
              return
            }
            keys.reserve(yield* repository.keysCount)
            // By pages: all rows as the driver brings them would be many times what stays of them. The next one is read
            // by Postgres while this one is packed.
            for (let page = yield* repository.keysPage({ after: "", rowsMax: KEYS_PAGE }); page.length > 0;) {
              const isLast = page.length < KEYS_PAGE
              const next = isLast
                ? undefined
                : yield* Effect.forkChild(repository.keysPage({ after: lastId(page), rowsMax: KEYS_PAGE }), {
                    startImmediately: true
                  })
              // Its statement is sent before this thread is busy.
              if (next !== undefined) yield* Effect.yieldNow
              for (const { own, shared } of page) keys.putParts(own, shared)
              if (next === undefined) return
              page = yield* Fiber.join(next)
            }
          })
        )

        const rejected = new Unauthorized({
          message: "Forbidden - a valid `x-svc-api-key` header must be sent.",
          reason: "rejected"
        })
        const missing = new Unauthorized({
          message: "Forbidden - a valid `x-svc-api-key` header must be sent.",
          reason: "missing"
        })

        const badToken = new Unauthorized({
          message: "The scoped token is invalid or expired.",
          reason: "scoped_token"
        })
        const signingKeyOf = (organizationId: string) => signingKeys.get(organizationId)
        interface Resolved {
          readonly key: KeyRecord
          readonly embedded: Record<string, unknown> | undefined
          readonly index?: string
        }
        /**
         * A stored key that another one goes back to: there, in time, of the organization and scope that it must have.
         */
        const origin = (id: string, organizationId: string, scope: KeyScope, now_ms: number): KeyRecord | undefined => {
          const key = keys.byId(id)
          return key !== undefined &&
            key.revoked_at === undefined &&
            key.organization_id === organizationId &&
            key.scope === scope &&
            key.expires_at * 1000 > now_ms
            ? key
            : undefined
        }
        const resolveScopedToken = (text: string, now_ms: number): Resolved | undefined => {
          const token = verifyScopedToken(text, now_ms, signingKeyOf)
          const key = token === undefined ? undefined : origin(token.key_id, token.organization_id, "search", now_ms)
          return token === undefined || key === undefined
            ? undefined
            : { key, embedded: { filter_by: token.scopedFilter }, index: token.index }
        }
        const resolveBrowserKey = (text: string, now_ms: number): Resolved | undefined => {
          const browserKey = verifyBrowserKey(text, now_ms, signingKeyOf)
          const minter =
            browserKey === undefined
              ? undefined
              : origin(browserKey.minted_by, browserKey.organization_id, "full", now_ms)
          return browserKey === undefined || minter === undefined
            ? undefined
            : { key: recordOfBrowserKey(browserKey, minter), embedded: undefined }
        }

        const failedKeys = makeFailedKeys()
        /** Why a text stands for no key: it is one that does not count any more, nobody's, or was not looked at. */
        type Unresolved = "refused" | "unknown" | "waiting"
        /** The key a text stands for, with the parameters that a secured key or a scoped token carries. */
        const resolve = (
          text: string,
          now_ms: number,
          { address, isGateway, scope }: Presented
        ): Resolved | Unresolved => {
          // One signature of a key that the text names: forged or expired, it costs no more than a plain key.
          if (isGateway && text.startsWith(scopedTokenPrefix)) return resolveScopedToken(text, now_ms) ?? "refused"
          const hash = lookupHash(sha256(text))
          const plain = keys.byHash(hash)
          const isLive = (key: KeyRecord) => key.revoked_at === undefined && key.expires_at * 1000 > now_ms
          // Keys of installations know their own runtime, and it knows no others (spec, CMS installations).
          if (plain !== undefined)
            return isLive(plain) && (plain.scope === "installation") === (scope === "installation")
              ? { key: plain, embedded: undefined }
              : "refused"
          if (scope === "installation") return "unknown"
          if (!isGateway && text.startsWith(browserKeyPrefix)) return resolveBrowserKey(text, now_ms) ?? "refused"
          const secured = parseSecuredKey(text)
          if (secured === undefined) return "unknown"
          if (failedKeys.wait_ms(address, now_ms) > 0) return "waiting"
          const parent = keys.signer(secured.parentPrefix, ({ digest }) => isSignedBy(secured, digest))
          if (parent === undefined) return "unknown"
          const expires_at = secured.parameters.expires_at
          return isLive(parent) &&
            (expires_at === undefined || (typeof expires_at === "number" && expires_at * 1000 > now_ms))
            ? { key: parent, embedded: { ...secured.parameters } }
            : "refused"
        }
        const unresolved = (
          why: Unresolved,
          { address, isGateway, key }: Presented,
          now_ms: number
        ): Throttled | Unauthorized => {
          const wait_ms =
            why === "unknown"
              ? failedKeys.count(address, now_ms)
              : why === "waiting"
                ? failedKeys.wait_ms(address, now_ms)
                : 0
          if (wait_ms > 0)
            return new Throttled({
              message: "Too many unknown keys came from this network; wait before the next one.",
              kind: "rate",
              retry_after_s: Math.ceil(wait_ms / 1000)
            })
          return isGateway && key?.startsWith(scopedTokenPrefix) === true ? badToken : rejected
        }
        /**
         * A value that shares its beginning with few keys, whose signatures are tried where a secured key begins so.
         */
        const uncrowdedValue = Effect.fnUntraced(function* () {
          for (let tries = 0; tries < VALUES_TRIED_MAX; tries++) {
            const value = yield* identifiers.secret(parentLengthMin + 4)
            if (keys.signersOf(value.slice(0, 4)) < SIGNERS_BESIDE_MAX) return value
          }
          return yield* Effect.die(
            new Error(`${VALUES_TRIED_MAX} new keys would all begin as ${SIGNERS_BESIDE_MAX} others do.`)
          )
        })

        const check = Effect.fnUntraced(function* (presented: Presented) {
          if (!configuration.isCurrent()) yield* configuration.current
          if (presented.key === undefined || presented.key === "") return yield* missing
          if (presented.key.length > securedKeyLengthMax) return yield* rejected
          const now_ms = yield* Clock.currentTimeMillis
          const resolved = resolve(presented.key, now_ms, presented)
          if (typeof resolved === "string") return yield* unresolved(resolved, presented, now_ms)
          const organization = organizations.get(resolved.key.organization_id)
          if (organization === undefined) return yield* unresolved("refused", presented, now_ms)
          const { embedded, index, key } = resolved
          const budget = key.rate_limit_per_minute === 0 || presented.isRateFree ? undefined : rateBudget(key, now_ms)
          let rate: Caller["rate"]
          if (budget !== undefined && presented.onKey !== undefined)
            presented.onKey(key, rateOf(budget, rates.peek(budget)))
          else presented.onKey?.(key, undefined)
          const decided = (take: () => Taken | undefined) => {
            let isUnknown = false
            const refusal = decide({
              key,
              organization,
              damage: configuration.damages.of(key.organization_id),
              serviceDomain,
              index,
              isSecured: embedded !== undefined,
              scope: presented.scope,
              address: presented.address,
              origin: presented.origin,
              collection: presented.collection,
              isOfAll: presented.isOfAll === true,
              takeRateToken: () => {
                if (budget === undefined) return { isAllowed: true, resets_in_s: 0 }
                const taken = take()
                isUnknown = taken === undefined
                if (taken === undefined) return { isAllowed: true, resets_in_s: 0 }
                rate = rateOf(budget, taken)
                presented.onKey?.(key, rate)
                return { isAllowed: taken.isAllowed, resets_in_s: Math.ceil((budget.ends_at - now_ms) / 1000) }
              }
            })
            return { refusal, isUnknown }
          }
          let { isUnknown, refusal } = decided(() => (budget === undefined ? undefined : rates.take(budget, 1)))
          if (isUnknown && budget !== undefined) {
            // Once a minute and key, among several processes: the request that finds no token here waits for a block of
            // them.
            const taken = yield* Effect.orElseSucceed(rates.ask(budget, 1), () => ({ isAllowed: false, remaining: 0 }))
            refusal = decided(() => taken).refusal
          }
          if (refusal !== undefined) return yield* refusal
          return {
            organizationId: key.organization_id,
            key,
            scope: key.scope,
            embedded,
            ...(index === undefined ? {} : { index }),
            sessionId: presented.sessionId,
            rate
          }
        })

        const takeTokens = Effect.fnUntraced(function* ({ key, rate }: Caller, tokens: number) {
          if (rate === undefined || tokens <= 0) return
          const budget = rateBudget(key, yield* Clock.currentTimeMillis)
          const taken =
            rates.take(budget, tokens) ??
            (yield* Effect.orElseSucceed(rates.ask(budget, tokens), () => ({ isAllowed: false, remaining: 0 })))
          rate.remaining = Math.max(0, taken.remaining)
          if (!taken.isAllowed)
            return yield* tooFast(key, Math.ceil((budget.ends_at - (yield* Clock.currentTimeMillis)) / 1000))
        })

        /** A statement that fails is a defect. */
        const stored = <A, E extends { readonly _tag: string }>(write: Effect.Effect<A, E | SqlError.SqlError>) =>
          Effect.catchTag(write, "SqlError", Effect.die) as Effect.Effect<A, Exclude<E, SqlError.SqlError>>

        const createOrganization = Effect.fn("Access.createOrganization")(function* (name: string, plan: string) {
          const organization: OrganizationRecord = {
            id: yield* identifiers.make("org"),
            name,
            status: "active",
            paused_reason: undefined,
            plan,
            created_at: yield* Clock.currentTimeMillis
          }
          yield* stored(
            configuration.write(
              { kind: "organization", organizationId: organization.id, id: organization.id },
              repository.insertOrganization(organization)
            )
          )
          return organization
        })

        const setOrganization = Effect.fn("Access.setOrganization")(function* (
          id: string,
          change: Partial<OrganizationRecord>
        ) {
          return yield* stored(
            configuration.write(
              { kind: "organization", organizationId: id, id },
              Effect.gen(function* () {
                const found = yield* repository.lockOrganization(id)
                if (found === undefined) return yield* new NotFound({ message: `Organization ${id} does not exist.` })
                const next: OrganizationRecord = { ...found, ...change }
                yield* repository.updateOrganization(next)
                return next
              })
            )
          )
        })

        const createKey = Effect.fn("Access.createKey")(function* (request: NewKey, cap?: Cap) {
          yield* configuration.current
          const organization = organizations.get(request.organization_id)
          if (organization === undefined)
            return yield* new NotFound({ message: `Organization ${request.organization_id} does not exist.` })
          const refusal = originsRefusal(organization.plan, request.origins, serviceDomain)
          if (refusal !== undefined) return yield* refusal
          const prefix =
            request.scope === "connector_write"
              ? "ss_connector_"
              : request.scope === "installation"
                ? "ss_cms_"
                : request.isGateway
                  ? "ss_search_"
                  : ""
          const mayBeParent = request.scope === "search" && request.value === undefined && prefix === ""
          const value =
            request.value ??
            (yield* mayBeParent
              ? uncrowdedValue()
              : Effect.map(identifiers.secret(parentLengthMin + 4), (secret) => prefix + secret))
          const digest = sha256(value)
          const lookup_hash = lookupHash(digest).toString("hex")
          const now = yield* Clock.currentTimeMillis
          const key: KeyRecord = {
            id: yield* identifiers.make("key"),
            organization_id: request.organization_id,
            scope: request.scope,
            description: request.description,
            actions: request.actions,
            collections: request.collections,
            value_prefix: value.slice(0, 4),
            lookup_hash,
            // Chosen values can be made to begin alike, and each would be tried for a secured key that begins so.
            sealed_digest: mayBeParent ? seal.seal(digest) : undefined,
            cidrs: request.cidrs,
            origins: request.origins,
            filter_by: request.filter_by,
            fields: request.fields ?? [],
            autodelete: request.autodelete ?? false,
            installation_id: request.installation_id,
            rate_limit_per_minute: request.rate_limit_per_minute,
            expires_at: request.expires_at,
            created_at: now,
            revoked_at: undefined
          }
          yield* stored(
            configuration.write(
              { kind: "api_key", organizationId: key.organization_id, id: key.id },
              Effect.gen(function* () {
                if (
                  cap !== undefined &&
                  cap.max < Infinity &&
                  (yield* repository.lockListed(key.organization_id, cap.max)) >= cap.max
                )
                  return yield* cap.refusal
                // A value that any key has or had, of whatever organization and process.
                yield* Effect.catchTag(
                  repository.insertKey(key),
                  "SqlError",
                  (error): Effect.Effect<never, KeyValueTaken | SqlError.SqlError> =>
                    Effect.fail(
                      error.reason._tag === "UniqueViolation"
                        ? new KeyValueTaken({ message: "API key generation conflict." })
                        : error
                    )
                )
                yield* outbox.put(key.organization_id, "api_key.created", {
                  key_id: key.id,
                  scope: key.scope,
                  description: key.description
                })
              })
            )
          )
          return { key, value }
        })

        /** The organization's, made by the first who asks; everybody has it before this answers. */
        const signingKey = Effect.fn("Access.signingKey")(function* (organizationId: string) {
          yield* configuration.current
          const known = signingKeys.get(organizationId)
          if (known !== undefined) return known
          const made = Buffer.from(yield* identifiers.secret(signingKeyLength))
          const now = yield* Clock.currentTimeMillis
          yield* stored(
            configuration.write(
              { kind: "organization", organizationId, id: organizationId },
              repository.insertSigningKey(organizationId, seal.seal(made), now)
            )
          )
          const settled = signingKeys.get(organizationId)
          return settled === undefined
            ? yield* Effect.die(new Error(`The signing key of ${organizationId} was written and is not in memory.`))
            : settled
        })
        const mintBrowserKey = Effect.fn("Access.mintBrowserKey")(function* (
          key: Omit<BrowserKey, "id" | "created_at">
        ) {
          const signer = yield* signingKey(key.organization_id)
          const refusal = originsRefusal(organizations.get(key.organization_id)?.plan ?? "", key.origins, serviceDomain)
          if (refusal !== undefined) return yield* refusal
          return signBrowserKey(
            { ...key, id: yield* identifiers.make("key"), created_at: yield* Clock.currentTimeMillis },
            signer
          )
        })

        const own = (organizationId: string, id: string): KeyRecord | undefined => {
          const key = keys.byId(id)
          return key !== undefined && isListed(key, organizationId) ? key : undefined
        }
        const getKey = Effect.fnUntraced(function* (organizationId: string, id: string) {
          const key = own(organizationId, id)
          return key === undefined ? yield* new KeyNotFound({ message: "Not found." }) : key
        })
        const revoke = Effect.fnUntraced(function* (key: KeyRecord) {
          const { id, organization_id: organizationId } = key
          const revoked: KeyRecord = { ...key, revoked_at: yield* Clock.currentTimeMillis }
          yield* stored(
            configuration.write(
              { kind: "api_key", organizationId, id },
              Effect.gen(function* () {
                // Another process was quicker.
                if (!(yield* repository.revokeKey(id, revoked.revoked_at ?? 0)))
                  return yield* new KeyNotFound({ message: "Not found." })
                yield* outbox.put(organizationId, "api_key.revoked", {
                  key_id: id,
                  scope: key.scope,
                  description: key.description
                })
              })
            )
          )
          return revoked
        })
        const revokeKey = Effect.fn("Access.revokeKey")((organizationId: string, id: string) =>
          Effect.flatMap(getKey(organizationId, id), revoke)
        )
        const installationKey = (organizationId: string, installationId: string): KeyRecord | undefined => {
          return keys
            .ofOrganization(organizationId)
            .find((key) => key.installation_id === installationId && key.revoked_at === undefined)
        }
        const revokeInstallationKey = Effect.fn("Access.revokeInstallationKey")(function* (
          organizationId: string,
          installationId: string
        ) {
          const key = installationKey(organizationId, installationId)
          return yield* key === undefined ? new KeyNotFound({ message: "Not found." }) : revoke(key)
        })
        const deleteExpired = Effect.fn("Access.deleteExpired")(function* () {
          yield* configuration.current
          const now_ms = yield* Clock.currentTimeMillis
          const expired = yield* stored(repository.expired(Math.floor(now_ms / 1_000)))
          // Another process was quicker: then it is done.
          let deleted = 0
          for (const key of expired)
            if (
              yield* Effect.catch(Effect.as(revoke(key), true), (error) =>
                error._tag === "KeyNotFound" ? Effect.succeed(false) : Effect.fail(error)
              )
            )
              deleted++
          return deleted
        })

        return Access.of({
          check,
          takeTokens,
          createOrganization,
          organizations: Effect.map(configuration.current, () => [...organizations.values()]),
          setOrganization,
          createKey,
          listKeys: (organizationId) =>
            keys
              .ofOrganization(organizationId)
              .filter((key) => isListed(key, organizationId))
              .reverse(),
          getKey,
          revokeKey,
          revokeInstallationKey,
          deleteExpired: deleteExpired(),
          mintBrowserKey,
          mintScopedToken: (token) =>
            Effect.map(signingKey(token.organization_id), (signer) => signScopedToken(token, signer))
        })
      })
    )
  static readonly layer = Access.layerWith({})
}
