/** All connectors in memory, by id and by organization. */
import { Effect } from "effect"
import { Configuration } from "../configuration/configuration.ts"
import { connectorOf, makeConnectorsRepository, type StoredConnector } from "./connectors-repository.ts"

interface KeptConnectors {
  readonly get: (id: string) => StoredConnector | undefined
  /** Ordered by id. */ readonly of: (organizationId: string) => ReadonlyArray<StoredConnector>
}

export const keepConnectors = Effect.gen(function* () {
  const configuration = yield* Configuration
  const { read } = yield* makeConnectorsRepository
  const byId = new Map<string, StoredConnector>()
  const organizations = new Map<string, Set<string>>()
  const forget = (id: string): void => {
    const known = byId.get(id)
    byId.delete(id)
    if (known !== undefined) organizations.get(known.organization_id)?.delete(id)
  }
  const learn = (own: StoredConnector): void => {
    byId.set(own.id, own)
    let ids = organizations.get(own.organization_id)
    if (ids === undefined) organizations.set(own.organization_id, (ids = new Set()))
    ids.add(own.id)
  }
  yield* configuration.keep("connector", (subjects) =>
    Effect.flatMap(read(subjects), (rows) =>
      Effect.suspend(() => {
        configuration.damages.forget("connector", subjects)
        for (const id of subjects === "all" ? [...byId.keys()] : subjects.map((subject) => subject.id)) forget(id)
        const unread: Array<Effect.Effect<void>> = []
        for (const row of rows)
          try {
            learn(connectorOf(row))
          } catch (error) {
            const reason = `The stored connector \`${row.id}\` is not what it should be.`
            configuration.damages.note("connector", { organizationId: row.organization_id, id: row.id }, reason)
            unread.push(Effect.logError(`${row.organization_id} is refused: ${reason}`, error))
          }
        return Effect.all(unread, { discard: true })
      })
    )
  )
  const kept: KeptConnectors = {
    get: (id) => byId.get(id),
    of: (organizationId) => [...(organizations.get(organizationId) ?? [])].sort().flatMap((id) => byId.get(id) ?? [])
  }
  return kept
})
