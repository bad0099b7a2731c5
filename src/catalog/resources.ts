/**
 * Aliases, presets, synonym and curation sets, stopwords and stemming dictionaries of every organization: rows in
 * Postgres, kept in memory because every search needs several, read again where a write of any process changed them
 * (`Configuration`). A write is durable before it is seen.
 */
import { memoryResources, type ResourceKind, type ResourceKinds, type Resources } from "@dowser/engine-sdk/operations"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { CurrentOrigin, type Origin, systemOrigin } from "../identity/origin.ts"
import type { Subject } from "../configuration/change.ts"
import { Configuration } from "../configuration/configuration.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import { bytesOf, LIST_BYTES_MAX, makeNamedResources, VALUE_BYTES_MAX } from "../metering/named-resources.ts"
import { EngineRefusal } from "../http/errors.ts"
import { isShaped } from "./resource-shape.ts"

/** What a row holds: only stemming dictionaries are not JSON as they stand. */
const toRow = (kind: ResourceKind, value: unknown): unknown =>
  kind === "stemming_dictionary"
    ? {
        ...(value as ResourceKinds["stemming_dictionary"]),
        words: [...(value as ResourceKinds["stemming_dictionary"]).words]
      }
    : value
const fromRow = (kind: ResourceKind, value: unknown): unknown =>
  kind === "stemming_dictionary"
    ? {
        ...(value as object),
        words: new Map((value as { readonly words: ReadonlyArray<readonly [string, string]> }).words)
      }
    : value

const isList: Readonly<Record<ResourceKind, boolean>> = {
  alias: false,
  preset: false,
  stopwords: false,
  stemming_dictionary: true,
  synonym_set: true,
  curation_set: true
}
/** What is larger than a value may be, in words; undefined where nothing is. */
const tooLarge = (kind: ResourceKind, row: unknown): EngineRefusal | undefined => {
  const bytes_max = isList[kind] ? LIST_BYTES_MAX : VALUE_BYTES_MAX
  const refused = (what: string, limit: number) =>
    new EngineRefusal({ message: `${what} may have at most ${limit} bytes.`, status: 400 })
  if (bytesOf(row) > bytes_max) return refused(`The ${kind.replace("_", " ")}`, bytes_max)
  const { items } = row as { readonly items?: ReadonlyArray<{ readonly id: string }> }
  const item =
    kind === "synonym_set" || kind === "curation_set" ? items?.find((one) => bytesOf(one) > VALUE_BYTES_MAX) : undefined
  return item === undefined ? undefined : refused(`The item \`${item.id.slice(0, 80)}\``, VALUE_BYTES_MAX)
}

/** `value` is null where it is too big to be read. */
interface Row {
  readonly organization_id: string
  readonly kind: ResourceKind
  readonly name: string
  readonly value: unknown
}

/**
 * Beyond them nothing is read: what one organization stored, by whatever way it came there, must not end the process
 * that reads it. Both are more than any plan lets in (`src/metering/plans.ts`). Organizations are read together up to
 * as many bytes.
 */
const VALUE_READ_BYTES_MAX = 16_000_000
const ORGANIZATION_READ_BYTES_MAX = 512_000_000
const READ_TOGETHER_BYTES = 32_000_000
interface Size {
  readonly organization_id: string
  readonly bytes: number
}
/** Organizations in groups that are read in one go. */
const readTogether = (sizes: ReadonlyArray<Size>): ReadonlyArray<ReadonlyArray<string>> => {
  const groups: Array<Array<string>> = []
  let room = 0
  for (const { bytes, organization_id } of sizes) {
    if (groups.length === 0 || bytes > room) {
      groups.push([])
      room = READ_TOGETHER_BYTES
    }
    groups[groups.length - 1]!.push(organization_id)
    room -= bytes
  }
  return groups
}

/** The subject of a change: kinds have no slash. */
const subjectOf = (kind: ResourceKind, name: string): string => `${kind}/${name}`
export const resourceOf = (subject: string): readonly [kind: ResourceKind, name: string] => {
  const slash = subject.indexOf("/")
  return [subject.slice(0, slash) as ResourceKind, subject.slice(slash + 1)]
}

export interface CatalogResourcesShape extends Resources {
  /** Organizations that have any resource, or had since the start. */
  readonly organizations: () => ReadonlyArray<string>
  /** The same, its writes on somebody's behalf: what the engine package calls knows no fiber that would tell. */
  readonly on: (origin: Origin) => Resources
}

export class CatalogResources extends Context.Service<CatalogResources, CatalogResourcesShape>()(
  "dowser/catalog/CatalogResources"
) {
  static readonly layer: Layer.Layer<CatalogResources, never, Configuration | Entitlements | SqlClient.SqlClient> =
    Layer.effect(
      CatalogResources,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const configuration = yield* Configuration
        const named = yield* makeNamedResources
        let seen = memoryResources()
        const organizations = new Set<string>()

        interface Fault {
          readonly subject: Subject
          readonly reason: string
        }
        /**
         * Memory's own puts take effect when called; that they settle says nothing more. Answers what is not as it
         * should be.
         */
        const remember = (memory: typeof seen, rows: ReadonlyArray<Row>): ReadonlyArray<Fault> =>
          rows.flatMap(({ kind, name, organization_id: organizationId, value }) => {
            organizations.add(organizationId)
            if (!isShaped(kind, value))
              return [
                {
                  subject: { organizationId, id: subjectOf(kind, name) },
                  reason: `The stored ${kind.replace("_", " ")} \`${name.slice(0, 80)}\` is ${value === null ? "too big or empty" : "not what it should be"}.`
                }
              ]
            void memory.put(organizationId, kind, name, fromRow(kind, value) as ResourceKinds[ResourceKind])
            return []
          })
        const found = (subjects: ReadonlyArray<Subject> | "all", faults: ReadonlyArray<Fault>) =>
          Effect.suspend(() => {
            configuration.damages.forget("engine_resource", subjects)
            for (const { reason, subject } of faults) configuration.damages.note("engine_resource", subject, reason)
            return Effect.forEach(
              faults,
              ({ reason, subject }) => Effect.logError(`${subject.organizationId} is refused: ${reason}`),
              { discard: true }
            )
          })
        const readValue = sql`CASE WHEN r.bytes > ${VALUE_READ_BYTES_MAX}::int4 THEN NULL ELSE r.value END AS value`
        const readAll = Effect.gen(function* () {
          const memory = memoryResources()
          const sizes =
            yield* sql<Size>`SELECT organization_id, sum(bytes)::float8 AS bytes FROM engine_resources GROUP BY organization_id ORDER BY organization_id`
          const faults: Array<Fault> = sizes
            .filter(({ bytes }) => bytes > ORGANIZATION_READ_BYTES_MAX)
            .map(({ bytes, organization_id }) => ({
              subject: { organizationId: organization_id, id: "" },
              reason: `Its named resources have ${bytes} bytes, which are too many to be read.`
            }))
          for (const group of readTogether(sizes.filter(({ bytes }) => bytes <= ORGANIZATION_READ_BYTES_MAX))) {
            faults.push(
              ...remember(
                memory,
                yield* sql<Row>`SELECT r.organization_id, r.kind, r.name, ${readValue} FROM engine_resources r WHERE r.organization_id = ANY(${group}::text[])`
              )
            )
          }
          seen = memory
          yield* found("all", faults)
        })
        yield* configuration.keep("engine_resource", (subjects) => {
          if (subjects === "all") return readAll
          const changed = subjects.map(({ id, organizationId }) => [organizationId, ...resourceOf(id)] as const)
          return Effect.flatMap(
            sql<Row>`SELECT r.organization_id, r.kind, r.name, ${readValue} FROM engine_resources r
        JOIN unnest(${changed.map(([organizationId]) => organizationId)}::text[], ${changed.map(([, kind]) => kind)}::text[], ${changed.map(([, , name]) => name)}::text[]) AS t (organization_id, kind, name)
          ON r.organization_id = t.organization_id AND r.kind = t.kind AND r.name = t.name`,
            (rows) =>
              Effect.suspend(() => {
                const there = new Set(
                  rows.map(({ kind, name, organization_id }) => JSON.stringify([organization_id, kind, name]))
                )
                for (const [organizationId, kind, name] of changed)
                  if (!there.has(JSON.stringify([organizationId, kind, name])))
                    void seen.remove(organizationId, kind, name)
                return found(subjects, remember(seen, rows))
              })
          )
        })

        const context = yield* Effect.context<never>()
        const write = <A>(
          origin: Origin,
          organizationId: string,
          kind: ResourceKind,
          name: string,
          statement: Effect.Effect<A, SqlError.SqlError | EngineRefusal>
        ): Promise<A> =>
          Effect.runPromiseWith(context)(
            Effect.provideService(
              configuration.write(
                { kind: "engine_resource", organizationId, id: subjectOf(kind, name) },
                named.within(organizationId, statement)
              ),
              CurrentOrigin,
              origin
            )
          )
        const stored = (organizationId: string, kind: ResourceKind, name: string, value: unknown) =>
          Effect.suspend((): Effect.Effect<unknown, SqlError.SqlError | EngineRefusal> => {
            const row = toRow(kind, value)
            const refusal = tooLarge(kind, row)
            if (refusal !== undefined) return Effect.fail(refusal)
            return sql`INSERT INTO engine_resources (organization_id, kind, name, value) VALUES (${organizationId}, ${kind}, ${name}, ${JSON.stringify(row)}::text::jsonb)
        ON CONFLICT (organization_id, kind, name) DO UPDATE SET value = EXCLUDED.value`
          })
        const on = (origin: Origin): Resources => ({
          get: (organizationId, kind, name) => seen.get(organizationId, kind, name),
          list: (organizationId, kind) => seen.list(organizationId, kind),
          put: (organizationId, kind, name, value) =>
            write(origin, organizationId, kind, name, Effect.asVoid(stored(organizationId, kind, name, value))),
          change: <K extends ResourceKind>(
            organizationId: string,
            kind: K,
            name: string,
            make: (value: ResourceKinds[K] | undefined) => ResourceKinds[K] | undefined
          ) =>
            write(
              origin,
              organizationId,
              kind,
              name,
              Effect.gen(function* () {
                const rows = yield* sql<
                  Pick<Row, "value">
                >`SELECT value FROM engine_resources WHERE organization_id = ${organizationId} AND kind = ${kind} AND name = ${name} FOR UPDATE`
                const value = make(
                  rows[0] === undefined ? undefined : (fromRow(kind, rows[0].value) as ResourceKinds[K])
                )
                if (value !== undefined) yield* stored(organizationId, kind, name, value)
                return value
              })
            ),
          remove: (organizationId, kind, name) =>
            write(
              origin,
              organizationId,
              kind,
              name,
              Effect.asVoid(
                sql`DELETE FROM engine_resources WHERE organization_id = ${organizationId} AND kind = ${kind} AND name = ${name}`
              )
            )
        })
        return CatalogResources.of({ ...on(systemOrigin), organizations: () => [...organizations], on })
      })
    )
}
