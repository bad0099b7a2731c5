/**
 * Every operation that a room's contract declares, including the console's twins, without a running program: for API
 * pages, and for tests that inspect operations as values.
 */
import { existsSync, readdirSync } from "node:fs"
import { isTwinned, twinOf } from "./console/twins.ts"
import type { Operation } from "./http/operation.ts"
import { rooms as roomList } from "./rooms.ts"

const rooms = new URL("./", import.meta.url)
const isOperation = (value: unknown): value is Operation =>
  typeof value === "object" && value !== null && "isRateFree" in value && "path" in value && "id" in value
const operationsIn = (value: unknown): ReadonlyArray<Operation> =>
  isOperation(value)
    ? [value]
    : Array.isArray(value) ||
        (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype)
      ? Object.values(value as object).filter(isOperation)
      : []

export const allOperations = async (): Promise<ReadonlyArray<Operation>> => {
  const roles = roomList.table("roles")
  const found = new Map<string, Operation>()
  for (const room of readdirSync(rooms).sort()) {
    const contract = new URL(`${room}/contract.ts`, rooms)
    if (!existsSync(contract)) continue
    for (const operation of Object.values((await import(contract.pathname)) as object).flatMap(operationsIn)) {
      found.set(operation.id, operation)
      if (isTwinned(operation) && roles.has(operation.id)) found.set(twinOf(operation).id, twinOf(operation))
    }
  }
  return [...found.values()]
}
