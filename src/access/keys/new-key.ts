/** Validates a key request beyond its single fields (`key-fields.ts`), and applies defaults. */
import { Effect } from "effect"
import { issuesIn, refused } from "../../http/checks.ts"
import { NEVER_EXPIRES } from "../access.ts"
import type { CreateKey } from "../contract.ts"
import { KeyTooWide } from "../errors.ts"
import { type KeyRecord, type KeyScope, RATE_LIMIT_DEFAULT } from "../../identity/key-record.ts"
import type { NewKey } from "./create-key.ts"
import { rateWithin, type Width, widerFields } from "./narrower.ts"

/** Limit of all its restrictions together: each request is checked against them, and every process caches them. */
const RESTRICTIONS_BYTES_MAX = 65_536

/** The engine's `actions` must correspond exactly to a scope, so that no key silently becomes a full key. */
const scopeOf = (request: typeof CreateKey.Type): Exclude<KeyScope, "installation"> | undefined => {
  if (request.scope !== undefined) return request.scope
  const actions = request.actions ?? []
  if (actions.length === 1 && actions[0] === "*") return "full"
  if (actions.length === 1 && actions[0] === "documents:search") return "search"
  return undefined
}

/** Reports everything that is wider, so that one response says what to change. */
export const checkWidth = (asked: Width, creator: Width | undefined): Effect.Effect<void, KeyTooWide> => {
  const fields = creator === undefined ? [] : widerFields(asked, creator)
  return fields.length === 0
    ? Effect.void
    : Effect.fail(
        new KeyTooWide({
          message: `A key makes only keys that are no wider than itself; this one would be in ${fields.map((name) => `\`${name}\``).join(", ")}.`,
          fields
        })
      )
}

interface Restrictions {
  readonly collections?: ReadonlyArray<string>
  readonly filter_by?: Readonly<Record<string, string>>
  readonly origins?: ReadonlyArray<string>
}
/** The restrictions that stored keys and browser keys have in common; absent ones are copied from the creator. */
export const restrictionsOf = (
  request: Restrictions,
  creator: Pick<KeyRecord, "collections" | "filter_by" | "origins"> | undefined
) => ({
  collections: request.collections ?? creator?.collections ?? ["*"],
  filter_by: request.filter_by ?? creator?.filter_by ?? {},
  origins: request.origins ?? creator?.origins ?? []
})

/** `creator` is the requesting key, whose restrictions apply if the request has none; undefined for the operator. */
export const newKeyOf = Effect.fnUntraced(function* (
  organizationId: string,
  request: typeof CreateKey.Type,
  creator?: KeyRecord
) {
  const scope = scopeOf(request)
  const restrictions = restrictionsOf(request, creator)
  const cidrs = request.cidrs ?? creator?.cidrs ?? []
  const fields = request.fields ?? (creator === undefined || creator.fields.length === 0 ? undefined : creator.fields)
  yield* refused(
    issuesIn([
      [
        "actions",
        scope === undefined
          ? 'Only ["*"] and ["documents:search"] are actions here; set `scope` to `full`, `search` or `connector_write` instead'
          : undefined
      ],
      // Row and field restrictions apply to searches; they cannot restrict reading and writing documents, or creating
      // another key.
      ...(["filter_by", "fields"] as const).map(
        (name) =>
          [
            name,
            request[name] !== undefined && scope !== "search" ? "Only for keys with the scope `search`" : undefined
          ] as const
      ),
      [
        "gateway",
        request.gateway === true && scope === "full"
          ? "A gateway key has the scope `search` or `connector_write`"
          : undefined
      ],
      [
        "body",
        Buffer.byteLength(JSON.stringify([restrictions, cidrs, fields])) > RESTRICTIONS_BYTES_MAX
          ? `The restrictions of a key have at most ${RESTRICTIONS_BYTES_MAX} bytes together`
          : undefined
      ]
    ])
  )
  // Unreachable: refused above.
  if (scope === undefined) return yield* Effect.die(new Error("a key without a scope"))
  const key: NewKey = {
    organization_id: organizationId,
    scope,
    description: request.description,
    actions:
      request.actions ?? (scope === "full" ? ["*"] : scope === "search" ? ["documents:search"] : ["documents:import"]),
    ...restrictions,
    ...(request.value === undefined ? {} : { value: request.value }),
    isGateway: request.gateway === true,
    cidrs,
    ...(fields === undefined ? {} : { fields }),
    ...((request.personalization ?? creator?.personalization) === false ? { personalization: false } : {}),
    autodelete: request.autodelete ?? false,
    rate_limit_per_minute:
      request.rate_limit_per_minute ??
      (creator === undefined ? RATE_LIMIT_DEFAULT : rateWithin(creator.rate_limit_per_minute)),
    expires_at: request.expires_at ?? creator?.expires_at ?? NEVER_EXPIRES
  }
  yield* checkWidth({ ...key, fields: key.fields ?? [] }, creator)
  return key
})
