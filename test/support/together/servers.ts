/** Servers that a scenario kills and restarts: Postgres on its port, OpenSearch nodes. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { startEmbeddedPostgres } from "../../../src/runtime/embedded-postgres.ts"
import { temporaryFolder } from "../postgres.ts"
import { preparePostgres } from "../prepared-postgres.ts"
import { serverPids } from "../server-pids.ts"

interface KilledPostgres {
  readonly databaseUrl: string
  /** All of its processes at once, like a machine that loses power. */ readonly kill: () => Promise<void>
  /** On the same port, over its stored data. */ readonly restart: () => Promise<void>
}
export const acquirePostgres = Effect.gen(function* () {
  const folder = join(yield* temporaryFolder("together"), "postgres")
  yield* Effect.promise(() => preparePostgres(folder))
  let server = yield* Effect.promise(() => startEmbeddedPostgres(folder))
  yield* Effect.addFinalizer(() => Effect.promise(() => server.stop()))
  const { database, host, password, port, username } = server
  const postgres: KilledPostgres = {
    databaseUrl: `postgres://${username}:${password}@${host}:${port}/${database}`,
    kill: async () => {
      const postmaster = Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0])
      for (const pid of serverPids(postmaster)) process.kill(pid, "SIGKILL")
      await server.died
    },
    restart: async () => {
      server = await startEmbeddedPostgres(folder, port)
    }
  }
  return postgres
})

/** Kills the node that leads the cluster; returns its name. */
export const killManager = async (
  nodes: ReadonlyArray<{ readonly address: string; readonly pid: number; readonly exited: Promise<unknown> }>
): Promise<string> => {
  const answer = await fetch(`${nodes[0]!.address}/_cat/cluster_manager?format=json`)
  const [{ node }] = (await answer.json()) as readonly [{ readonly node: string }]
  const leading = nodes[Number(node.replace("node-", "")) - 1]!
  process.kill(leading.pid, "SIGKILL")
  await leading.exited
  return node
}
