/**
 * Named resources of all organizations in memory, as their rows were last read. A row that cannot be loaded is
 * recorded as damage of its organization and does not affect the others.
 */
import { memoryResources, type ResourceKinds } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"
import { Configuration } from "../configuration/configuration.ts"
import { isShaped } from "./resource-shape.ts"
import {
  fromRow,
  ORGANIZATION_READ_BYTES_MAX,
  readTogether,
  resourceOf,
  type Row,
  type Size,
  subjectOf,
  VALUE_READ_BYTES_MAX
} from "./resource-rows.ts"

type Memory = ReturnType<typeof memoryResources>
interface Fault {
  readonly subject: Subject
  readonly reason: string
}

/** In memory, a put takes effect when called, and its promise need not be awaited. Returns the faulty rows. */
const remember = (memory: Memory, rows: ReadonlyArray<Row>): ReadonlyArray<Fault> =>
  rows.flatMap(({ kind, name, organization_id: organizationId, value }) => {
    if (!isShaped(kind, value))
      return [
        {
          subject: { organizationId, id: subjectOf(kind, name) },
          reason: `The stored ${kind.replace("_", " ")} \`${name.slice(0, 80)}\` is ${value === null ? "too big or empty" : "not what it should be"}.`
        }
      ]
    void memory.put(organizationId, kind, name, fromRow(kind, value) as ResourceKinds[typeof kind])
    return []
  })

const makeStatements = (sql: SqlClient.SqlClient) => {
  const readValue = sql`CASE WHEN r.bytes > ${VALUE_READ_BYTES_MAX}::int4 THEN NULL ELSE r.value END AS value`
  return {
    sizes: sql<Size>`SELECT organization_id, sum(bytes)::float8 AS bytes FROM engine_resources GROUP BY organization_id ORDER BY organization_id`,
    ofOrganizations: (ids: ReadonlyArray<string>) =>
      sql<Row>`SELECT r.organization_id, r.kind, r.name, ${readValue} FROM engine_resources r WHERE r.organization_id = ANY(${ids}::text[])`,
    named: (subjects: ReadonlyArray<readonly [organizationId: string, kind: string, name: string]>) =>
      sql<Row>`SELECT r.organization_id, r.kind, r.name, ${readValue} FROM engine_resources r
        JOIN unnest(${subjects.map(([organizationId]) => organizationId)}::text[], ${subjects.map(([, kind]) => kind)}::text[], ${subjects.map(([, , name]) => name)}::text[]) AS t (organization_id, kind, name)
          ON r.organization_id = t.organization_id AND r.kind = t.kind AND r.name = t.name`
  }
}

/** Keeps the resources of all organizations in memory from here on. */
export const keepResources = Effect.gen(function* () {
  const configuration = yield* Configuration
  const statements = makeStatements(yield* SqlClient.SqlClient)
  let seen = memoryResources()
  const organizations = new Set<string>()
  const take = (memory: Memory, rows: ReadonlyArray<Row>) => {
    for (const { organization_id } of rows) organizations.add(organization_id)
    return remember(memory, rows)
  }
  const found = Effect.fnUntraced(function* (subjects: ReadonlyArray<Subject> | "all", faults: ReadonlyArray<Fault>) {
    configuration.damages.forget("engine_resource", subjects)
    for (const { reason, subject } of faults) configuration.damages.note("engine_resource", subject, reason)
    for (const { reason, subject } of faults) yield* Effect.logError(`${subject.organizationId} is refused: ${reason}`)
  })
  const readAll = Effect.gen(function* () {
    const memory = memoryResources()
    const sizes = yield* statements.sizes
    const faults: Array<Fault> = sizes
      .filter(({ bytes }) => bytes > ORGANIZATION_READ_BYTES_MAX)
      .map(({ bytes, organization_id }) => ({
        subject: { organizationId: organization_id, id: "" },
        reason: `Its named resources have ${bytes} bytes, which are too many to be read.`
      }))
    for (const group of readTogether(sizes.filter(({ bytes }) => bytes <= ORGANIZATION_READ_BYTES_MAX)))
      faults.push(...take(memory, yield* statements.ofOrganizations(group)))
    seen = memory
    yield* found("all", faults)
  })
  const readNamed = Effect.fnUntraced(function* (subjects: ReadonlyArray<Subject>) {
    const changed = subjects.map(({ id, organizationId }) => [organizationId, ...resourceOf(id)] as const)
    const rows = yield* statements.named(changed)
    const there = new Set(rows.map(({ kind, name, organization_id }) => JSON.stringify([organization_id, kind, name])))
    for (const [organizationId, kind, name] of changed)
      if (!there.has(JSON.stringify([organizationId, kind, name]))) void seen.remove(organizationId, kind, name)
    yield* found(subjects, take(seen, rows))
  })
  yield* configuration.keep("engine_resource", (subjects) => (subjects === "all" ? readAll : readNamed(subjects)))
  return { memory: () => seen, organizations: () => [...organizations] }
})
