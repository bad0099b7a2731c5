/**
 * Records collections in the audit log. The engine stores collections, so the entry is written before the change and
 * completed after it.
 */
import { type Body, type OperationContext, parseBody, resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import type { AuditRecorder } from "../audit/record.ts"

/** Undefined for a body that the engine refuses. */
const nameIn = (sent: Body): string | undefined => {
  const body = parseBody(sent)
  const name = body.ok ? (body.value as { readonly name?: unknown } | null)?.name : undefined
  return typeof name === "string" && name !== "" ? name.replaceAll("\u0000", "") : undefined
}

export const auditedCollection = (audit: AuditRecorder, contextOf: (organizationId: string) => OperationContext) => {
  const schemaOf = (organizationId: string, name: string): unknown => {
    const found = resolveCollection(contextOf(organizationId), name)
    return found === undefined ? undefined : { ...found.schema, created_at: found.created_at }
  }
  return {
    creation: <A, E>(organizationId: string, body: Body, change: Effect.Effect<A, E>): Effect.Effect<A, E> => {
      const name = nameIn(body)
      if (name === undefined) return change
      return audit.bracketed({ organizationId, kind: "collection", id: name, action: "created" }, change, () =>
        schemaOf(organizationId, name)
      )
    },
    /** `name` may be an alias; if it refers to nothing, the engine refuses it. */
    change: <A, E>(
      organizationId: string,
      name: string,
      action: "updated" | "deleted",
      change: Effect.Effect<A, E>
    ): Effect.Effect<A, E> =>
      Effect.suspend(() => {
        const collection = resolveCollection(contextOf(organizationId), name)?.schema.name
        if (collection === undefined) return change
        return audit.bracketed(
          { organizationId, kind: "collection", id: collection, action, before: schemaOf(organizationId, collection) },
          change,
          () => (action === "deleted" ? undefined : schemaOf(organizationId, collection))
        )
      })
  }
}
