/**
 * Each organization's key for signing scoped tokens and browser keys. Created on first use, never changed, stored
 * sealed, and cached in memory with the organization.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../../configuration/change.ts"
import { Configuration } from "../../configuration/configuration.ts"
import { stored } from "../../configuration/stored.ts"
import { Identifiers } from "@dowser/log/identifiers"
import { Seal } from "../seal.ts"

/** In characters: more than the 256 bits of an HMAC. */
const SIGNING_KEY_LENGTH = 48

const makeStatements = (sql: SqlClient.SqlClient) => ({
  signingKeys: (subjects: ReadonlyArray<Subject> | "all") =>
    sql<{
      readonly organization_id: string
      readonly sealed_key: string
    }>`SELECT organization_id, sealed_key FROM organization_signing_keys WHERE ${subjects === "all" ? sql`true` : sql`organization_id = ANY(${subjects.map(({ id }) => id)}::text[])`}`,
  /** Keeps an existing key. */
  insert: (organizationId: string, sealed: string, at: number) =>
    sql`INSERT INTO organization_signing_keys (organization_id, sealed_key, created_at) VALUES (${organizationId}, ${sealed}, ${at}) ON CONFLICT (organization_id) DO NOTHING`
})

/** Keeps the signing keys of all organizations in memory from here on. */
export const makeSigningKeys = Effect.gen(function* () {
  const configuration = yield* Configuration
  const identifiers = yield* Identifiers
  const seal = yield* Seal
  const statements = makeStatements(yield* SqlClient.SqlClient)
  const signingKeys = new Map<string, Uint8Array>()

  /** A seal that cannot be opened is recorded as damage to its organization. */
  const open = Effect.fnUntraced(function* (organizationId: string, sealed: string) {
    try {
      signingKeys.set(organizationId, seal.open(sealed))
    } catch (error) {
      configuration.damages.note(
        "organization",
        { organizationId, id: organizationId },
        "Its signing key does not open: it is damaged, or sealed with another operator's key."
      )
      yield* Effect.logError(
        `The signing key of ${organizationId} cannot be opened; the organization is refused`,
        error
      )
    }
  })
  yield* configuration.keep(
    "organization",
    Effect.fnUntraced(function* (subjects) {
      const rows = yield* statements.signingKeys(subjects)
      configuration.damages.forget("organization", subjects)
      // A key is created once and never changed.
      for (const { organization_id, sealed_key } of rows)
        if (!signingKeys.has(organization_id)) yield* open(organization_id, sealed_key)
    })
  )

  /** From memory; undefined if no key has been created yet, or if its seal cannot be opened. O(1). */
  const find = (organizationId: string): Uint8Array | undefined => signingKeys.get(organizationId)
  /** The organization's key, created on first use; every process has it before this returns. */
  const get = Effect.fn("Access.signingKey")(function* (organizationId: string) {
    yield* configuration.current
    const known = find(organizationId)
    if (known !== undefined) return known
    const made = Buffer.from(yield* identifiers.secret(SIGNING_KEY_LENGTH))
    const now = yield* Clock.currentTimeMillis
    yield* stored(
      configuration.write(
        { kind: "organization", organizationId, id: organizationId },
        statements.insert(organizationId, seal.seal(made), now)
      )
    )
    return (
      find(organizationId) ??
      (yield* Effect.die(new Error(`The signing key of ${organizationId} was written and is not in memory.`)))
    )
  })
  return { find, get }
})
