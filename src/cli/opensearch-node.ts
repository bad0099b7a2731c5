/**
 * OpenSearch nodes on loopback: each is a JVM with its own folder, runs as a user other than root, and ends with the
 * program that started it, however that ends. `opensearch-assembly.ts` builds their installation folder.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { StartRefused } from "../runtime/data-folder.ts"
import { freePort } from "../runtime/free-port.ts"
import { resolveOpensearch } from "./opensearch-assembly.ts"

const READY_MAX_MS = 120_000
const HEAP_DEFAULT_MB = 512
/** The user for nodes if this program runs as root: OpenSearch refuses root. */
const NOBODY = 65_534

interface OpensearchNode {
  readonly address: string
  readonly pid: number
  readonly stop: () => Promise<void>
  readonly exited: Promise<number | null>
  /** Restarts the node in the same folder after it has ended; resolves when all nodes have found each other. */
  readonly restart: () => Promise<OpensearchNode>
}
interface Cluster {
  readonly nodes: ReadonlyArray<OpensearchNode>
  readonly stop: () => Promise<void>
}
interface ClusterOptions {
  /** Data, settings and logs of the nodes, one folder each. */
  readonly folder: string
  /** Installation folder if not `folder`, so that several clusters share it. */
  readonly programFolder?: string
  readonly nodes: number
  /** Port of the first node, the others follow; 0 for any free ports. */
  readonly port: number
  readonly heap_mb?: number
  /** For tests: compiles code quickly rather than well. */ readonly isShortLived?: boolean
  readonly report: (text: string) => void
}
interface Place {
  readonly name: string
  readonly folder: string
  readonly port: number
  readonly transport: number
}

const settings = (own: Place, all: ReadonlyArray<Place>): string =>
  [
    "cluster.name: dowser",
    `node.name: ${own.name}`,
    "network.host: 127.0.0.1",
    `http.port: ${own.port}`,
    `transport.port: ${own.transport}`,
    `path.data: ${JSON.stringify(join(own.folder, "data"))}`,
    `path.logs: ${JSON.stringify(join(own.folder, "logs"))}`,
    "action.auto_create_index: false",
    // The disk of a development machine is fuller than that of a server.
    "cluster.routing.allocation.disk.threshold_enabled: false",
    // For tests that enable the threshold: the default of half a minute would be too long.
    "cluster.info.update.interval: 10s",
    ...(all.length === 1
      ? ["discovery.type: single-node"]
      : [
          `discovery.seed_hosts: [${all.map(({ transport }) => `"127.0.0.1:${transport}"`).join(", ")}]`,
          `cluster.initial_cluster_manager_nodes: [${all.map(({ name }) => name).join(", ")}]`
        ])
  ].join("\n")
const LOGGING = `appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
`

const isRoot = (): boolean => process.getuid?.() === 0
const handOver = (path: string): void => {
  if (isRoot()) chownSync(path, NOBODY, NOBODY)
}
const prepare = (own: Place, all: ReadonlyArray<Place>): void => {
  for (const name of ["", "data", "logs", "config", "tmp"]) {
    mkdirSync(join(own.folder, name), { recursive: true })
    handOver(join(own.folder, name))
  }
  for (const [name, text] of [
    ["opensearch.yml", settings(own, all)],
    ["log4j2.properties", LOGGING]
  ] as const) {
    writeFileSync(join(own.folder, "config", name), text)
    handOver(join(own.folder, "config", name))
  }
  const log = join(own.folder, "node.log")
  writeFileSync(log, "")
  handOver(log)
}

const javaArguments = (
  home: string,
  folder: string,
  { heap_mb = HEAP_DEFAULT_MB, isShortLived = false }: Pick<ClusterOptions, "heap_mb" | "isShortLived">
): ReadonlyArray<string> => [
  ...(isShortLived ? ["-XX:TieredStopAtLevel=1"] : []),
  `-Xms${heap_mb}m`,
  `-Xmx${heap_mb}m`,
  "-XX:+UseSerialGC",
  "-XX:+ExitOnOutOfMemoryError",
  "-Djava.security.manager=allow",
  `-Djna.tmpdir=${join(folder, "tmp")}`,
  `-Djava.io.tmpdir=${join(folder, "tmp")}`,
  "-Dlog4j.shutdownHookEnabled=false",
  "-Dlog4j2.disable.jmx=true",
  "-Djava.locale.providers=SPI,CLDR",
  `-Dopensearch.path.home=${home}`,
  `-Dopensearch.path.conf=${join(folder, "config")}`,
  "-cp",
  join(home, "lib", "*"),
  "org.opensearch.bootstrap.OpenSearch"
]
const spawnJava = (home: string, folder: string, options: ClusterOptions): ChildProcess =>
  spawn(
    "/bin/sh",
    ["-c", 'exec "$@" >>"$LOG" 2>&1', "dowser-opensearch", "java", ...javaArguments(home, folder, options)],
    {
      cwd: folder,
      env: { ...process.env, LOG: join(folder, "node.log"), HOME: folder },
      stdio: "ignore",
      ...(isRoot() ? { uid: NOBODY, gid: NOBODY } : {})
    }
  )
/** The watcher's input closes when this process ends, for any reason; then it ends the node. */
const spawnWatch = (pid: number): ChildProcess =>
  spawn("/bin/sh", ["-c", 'read -r _; kill -TERM "$1" 2>/dev/null', "dowser-opensearch-watch", String(pid)], {
    stdio: ["pipe", "ignore", "ignore"]
  })

const watched = (child: ChildProcess) => {
  let code: number | null | undefined
  const watch = spawnWatch(child.pid ?? 0)
  watch.on("error", () => {})
  const exited = new Promise<number | null>((settle) => {
    const ended = (status: number | null) => {
      code = status
      // The watcher must not end another process that gets this id later.
      watch.kill("SIGKILL")
      settle(status)
    }
    child.once("exit", ended)
    child.once("error", () => ended(null))
  })
  const stop = async () => {
    child.kill("SIGTERM")
    const timer = setTimeout(() => child.kill("SIGKILL"), 15_000)
    await exited
    clearTimeout(timer)
  }
  return { exited, stop, hasExited: () => code !== undefined }
}

const answersWhole = async (address: string, nodes: number): Promise<boolean> => {
  try {
    const response = await fetch(`${address}/_cluster/health`, { signal: AbortSignal.timeout(5_000) })
    const health = (await response.json()) as { readonly number_of_nodes?: number; readonly status?: string }
    return response.ok && health.number_of_nodes === nodes && health.status !== "red"
  } catch {
    // Not ready yet; the caller itself reports a time-out.
    return false
  }
}
const pause = (time_ms: number) => new Promise((settle) => setTimeout(settle, time_ms))

/** Assembles once, starts all nodes together, resolves when they found each other (5 s for one, 40 s for three). */
export const startOpensearch = async (options: ClusterOptions): Promise<Cluster> => {
  const folder = resolve(options.folder)
  mkdirSync(folder, { recursive: true })
  handOver(folder)
  const home = resolveOpensearch(options.programFolder ?? folder, options.report)
  const places: Place[] = []
  for (let n = 0; n < options.nodes; n++)
    places.push({
      name: `node-${n + 1}`,
      folder: join(folder, `node-${n + 1}`),
      port: options.port === 0 ? await freePort() : options.port + n,
      transport: await freePort()
    })
  for (const place of places) prepare(place, places)
  options.report(options.nodes === 1 ? "Starting the node" : `Starting ${options.nodes} nodes`)
  const running: Running[] = []
  const stop = async () => void (await Promise.all(running.map((node) => node.stop())))
  const begin = (place: Place): Running => {
    const child = spawnJava(home, place.folder, options)
    const node = { place, pid: child.pid ?? 0, ...watched(child) }
    running.push(node)
    return node
  }
  const nodeOf = ({ exited, pid, place, stop: stopNode }: Running): OpensearchNode => ({
    address: `http://127.0.0.1:${place.port}`,
    pid,
    stop: stopNode,
    exited,
    restart: async () => {
      await exited
      const again = begin(place)
      await untilReady([again], places.length, stop)
      return nodeOf(again)
    }
  })
  const first = places.map(begin)
  await untilReady(first, places.length, stop)
  return { nodes: first.map(nodeOf), stop }
}
interface Running extends ReturnType<typeof watched> {
  readonly place: Place
  readonly pid: number
}
const untilReady = async (nodes: ReadonlyArray<Running>, wanted: number, stop: () => Promise<void>): Promise<void> => {
  for (const { place, hasExited } of nodes)
    for (let waited_ms = 0; !(await answersWhole(`http://127.0.0.1:${place.port}`, wanted)); waited_ms += 100) {
      const hasEnded = hasExited()
      if (hasEnded || waited_ms > READY_MAX_MS) {
        await stop()
        throw new StartRefused(
          hasEnded
            ? `The ${place.name} ended while starting: ${logOf(place).trim().slice(-800)}`
            : `The ${place.name} was not ready within ${READY_MAX_MS / 1_000} s.`
        )
      }
      await pause(100)
    }
}
const logOf = ({ folder }: Place): string => {
  const file = join(folder, "node.log")
  return existsSync(file) ? readFileSync(file, "utf8") : ""
}
