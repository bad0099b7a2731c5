/**
 * `dowser kafka`: runs a real Apache Kafka broker (KRaft) from Maven Central on this machine's JVM, on loopback, with
 * a data folder. It prints a line when ready, and stops with this program. For development and the Kafka test lane.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Effect } from "effect"
import { StartRefused } from "../runtime/data-folder.ts"
import { freePort } from "../runtime/free-port.ts"
import { makeProgress } from "./progress.ts"

/** The newest version that resolves without changes; 3.9.2 works as well. */
export const kafkaVersionDefault = "4.3.1"

const pom = `<project><modelVersion>4.0.0</modelVersion><groupId>dowser</groupId><artifactId>broker</artifactId><version>1</version><packaging>pom</packaging>
<dependencies><dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>\${kafka.version}</version>
<exclusions><exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion></exclusions></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency></dependencies></project>`

const properties = (port: number, controller: number, data: string) => `process.roles=broker,controller
node.id=1
listeners=BROKER://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}
advertised.listeners=BROKER://127.0.0.1:${port}
listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=BROKER
controller.quorum.voters=1@127.0.0.1:${controller}
log.dirs=${data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
auto.create.topics.enable=false
num.network.threads=2
num.io.threads=2
log.cleaner.dedupe.buffer.size=4194304
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
`

const run = (file: string, args: ReadonlyArray<string>, cwd: string): string => {
  const result = spawnSync(file, [...args], { cwd, encoding: "utf8" })
  if (result.error !== undefined)
    throw new StartRefused(`\`${file}\` cannot be run here: a broker needs Java 17 and Maven.`)
  if (result.status !== 0)
    throw new StartRefused(`\`${file}\` failed: ${(result.stderr || result.stdout).trim().slice(-600)}`)
  return result.stdout.trim()
}

export interface Broker {
  readonly address: string
  readonly pid: number
  readonly stop: () => Promise<void>
  readonly exited: Promise<number | null>
}

/** The folder below `folder` with the jars of a version, fetched (13 s) if missing. Throws `StartRefused`. */
export const resolveJars = (folder: string, version: string, report: (text: string) => void): string => {
  const jars = join(resolve(folder), `lib-${version}`)
  if (existsSync(jars)) return jars
  mkdirSync(folder, { recursive: true })
  report(`Fetching Kafka ${version} from Maven Central`)
  // A folder specific to this process: of two that fetch at the same time, the second uses what the first stored.
  const fresh = `${jars}.${process.pid}`
  mkdirSync(fresh)
  writeFileSync(join(fresh, "pom.xml"), pom)
  run(
    "mvn",
    [
      "-B",
      "-ntp",
      "-q",
      `-Dkafka.version=${version}`,
      "dependency:copy-dependencies",
      "-DincludeScope=runtime",
      `-DoutputDirectory=${fresh}`
    ],
    fresh
  )
  if (existsSync(jars)) rmSync(fresh, { recursive: true, force: true })
  else renameSync(fresh, jars)
  return jars
}

interface BrokerOptions {
  /** Data, settings and log of this broker. */
  readonly folder: string
  /** Folder of the jars if not `folder`, so that several brokers share them. */
  readonly jarsFolder?: string
  readonly port: number
  readonly version: string
  /** Lines of `server.properties` that override ours. */
  readonly settings?: string
  /** The JVM compiles code quickly rather than well: a start costs 2.6 processor-seconds instead of 4. */
  readonly isShortLived?: boolean
  readonly report: (text: string) => void
}

/** Sixteen random bytes in Kafka's id format; a leading dash would be read as an option. */
const randomId = (): string => {
  const id = randomBytes(16).toString("base64url")
  return id.startsWith("-") ? randomId() : id
}
const QUICKLY = "-XX:TieredStopAtLevel=1"
/** A new data folder gets its id before the broker may use it. */
const formatData = (folder: string, classpath: string, file: string): void => {
  const tool = ["-Xmx128m", QUICKLY, "-cp", classpath, "kafka.tools.StorageTool"]
  run("java", [...tool, "format", "-t", randomId(), "-c", file], folder)
}

const spawnBroker = (
  folder: string,
  classpath: string,
  file: string,
  log: string,
  options: ReadonlyArray<string>
): ChildProcess =>
  spawn(
    "/bin/sh",
    [
      "-c",
      'exec "$@" >>"$LOG" 2>&1',
      "dowser-kafka",
      "java",
      "-Xms128m",
      "-Xmx384m",
      "-XX:+UseSerialGC",
      "-XX:MaxDirectMemorySize=128m",
      "-XX:ReservedCodeCacheSize=64m",
      "-XX:-UsePerfData",
      "-XX:+ExitOnOutOfMemoryError",
      ...options,
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
      "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
      "-cp",
      classpath,
      "kafka.Kafka",
      file
    ],
    { cwd: folder, env: { ...process.env, LOG: log }, stdio: "ignore" }
  )

/** Returns the child's exit status and how to stop it. */
const watched = (child: ChildProcess) => {
  let code: number | null | undefined
  const exited = new Promise<number | null>((settle) =>
    child.once("exit", (status) => {
      code = status
      settle(status)
    })
  )
  const stop = async () => {
    child.kill("SIGTERM")
    const timer = setTimeout(() => child.kill("SIGKILL"), 15_000)
    await exited
    clearTimeout(timer)
  }
  return { exited, stop, hasExited: () => code !== undefined }
}

class PortTaken extends StartRefused {}
/** `log` is the output of the broker that ended. */
const endedOf = (log: string, ports: ReadonlyArray<number>): StartRefused =>
  log.includes("Address already in use")
    ? new PortTaken(`The broker found a port taken: ${ports.join(", or for its controller ")}.`)
    : new StartRefused(`The broker ended while starting: ${log.trim().slice(-600)}`)

const STARTS_MAX = 3
/**
 * Resolves jars once per folder and version, formats once, starts (2-6 s), and waits until ready. Ports are chosen
 * seconds before the broker binds them: if one was taken in the meantime, others are chosen.
 */
export const startKafka = async (options: BrokerOptions): Promise<Broker> => {
  for (let starts = 1; ; starts++)
    try {
      return await started(options)
    } catch (error) {
      if (!(error instanceof PortTaken) || starts >= STARTS_MAX) throw error
    }
}
const started = async (options: BrokerOptions): Promise<Broker> => {
  const folder = resolve(options.folder)
  mkdirSync(folder, { recursive: true })
  const jars = resolveJars(options.jarsFolder ?? folder, options.version, options.report)
  const controller = await freePort()
  const port = options.port === 0 ? await freePort() : options.port
  const data = join(folder, "data")
  const file = join(folder, "server.properties")
  writeFileSync(
    file,
    `${properties(port, controller, data)}\n${options.settings === undefined ? "" : options.settings.replaceAll("{port}", String(port)).replaceAll("{controller}", String(controller))}`
  )
  const classpath = join(jars, "*")
  if (!existsSync(data) || readdirSync(data).length === 0) {
    options.report("Formatting the data folder")
    formatData(folder, classpath, file)
  }
  options.report("Starting the broker")
  const log = join(folder, "broker.log")
  writeFileSync(log, "")
  const child = spawnBroker(folder, classpath, file, log, options.isShortLived === true ? [QUICKLY] : [])
  const { exited, hasExited, stop } = watched(child)
  for (let waited_ms = 0; !readFileSync(log, "utf8").includes("Kafka Server started"); waited_ms += 50) {
    if (hasExited()) throw endedOf(readFileSync(log, "utf8"), [port, controller])
    if (waited_ms > 120_000) {
      await stop()
      throw new StartRefused("The broker was not ready within 120 s.")
    }
    await new Promise((settle) => setTimeout(settle, 50))
  }
  return { address: `127.0.0.1:${port}`, pid: child.pid ?? 0, stop, exited }
}

export const kafka = Effect.fn("cli.kafka")(function* (flags: {
  readonly folder: string
  readonly port: number
  readonly version: string
  readonly json: boolean
}) {
  const progress = makeProgress("Kafka")
  const broker = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () => startKafka({ ...flags, report: progress.end }),
      catch: (error) => (error instanceof StartRefused ? error : new StartRefused(String(error)))
    }),
    (started) => Effect.promise(started.stop)
  )
  if (flags.json) process.stdout.write(`${JSON.stringify({ ready: true, brokers: broker.address })}\n`)
  else process.stderr.write(`Kafka ${flags.version} is ready on ${broker.address} (KAFKA_BROKERS=${broker.address})\n`)
  const code = yield* Effect.promise(() => broker.exited)
  return yield* Effect.fail(new StartRefused(`The broker ended by itself (exit code ${code ?? "none"}).`))
})
