/** The reach of each operation as its room declares it, validated against the operation when routes are built. */
import type { Operation } from "../http/operation.ts"
import type { Reach } from "../identity/reach.ts"

const takesKey = ({ scope }: Pick<Operation, "scope">): boolean =>
  scope !== "public" && scope !== "operator" && scope !== "console"

/** Undefined for operations that take no key. Throws if the rooms' declarations do not fit the operation. */
export const reachOf = (
  operation: Pick<Operation, "id" | "path" | "scope">,
  reaches: ReadonlyMap<string, Reach>
): Reach | undefined => {
  if (!takesKey(operation)) return undefined
  const reach = reaches.get(operation.id)
  if (reach === undefined) throw new Error(`No room says which collections ${operation.id} touches`)
  if (reach === "path" && !operation.path.includes(":collectionName"))
    throw new Error(`Its room says that ${operation.id} names its collection in the path, which it does not`)
  return reach
}
