/**
 * A real broker for a test file, in a temporary folder, ended by its pid. The jars are fetched once and kept beside the
 * installed packages. `DOWSER_KAFKA_VERSION` chooses another version than the lane's default.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Broker, kafkaVersionDefault, resolveJars, startKafka } from "../../src/cli/kafka.ts"

export const kafkaVersion = process.env.DOWSER_KAFKA_VERSION ?? kafkaVersionDefault
const jarsFolder = fileURLToPath(new URL("../../node_modules/.cache/dowser-kafka", import.meta.url))

/** Why the Kafka lane cannot run here; undefined if it can. Fetches the jars if they are missing. */
export const kafkaMissing = (): string | undefined => {
  if (spawnSync("java", ["-version"]).status !== 0)
    return "the Kafka lane needs Java 17 or newer (`java` cannot be run here)"
  try {
    resolveJars(jarsFolder, kafkaVersion, () => {})
    return undefined
  } catch (error) {
    return `the Kafka lane cannot have its broker's jars: ${(error as Error).message}`
  }
}

export interface TestBroker {
  readonly address: () => string
  readonly port: () => number
  /** Ends it without a shutdown, as a crash does. */
  readonly kill: () => Promise<void>
  /** Restarts it on the same folder and port. */
  readonly restart: () => Promise<void>
  /** Keeps its connections open and answers nothing. */
  readonly freeze: () => void
  readonly thaw: () => void
  readonly stop: () => Promise<void>
}

export const startTestBroker = async (): Promise<TestBroker> => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-kafka-"))
  const start = (port: number) =>
    startKafka({ folder, jarsFolder, port, version: kafkaVersion, isShortLived: true, report: () => {} })
  let broker: Broker
  try {
    broker = await start(0)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  const port = Number(broker.address.split(":")[1])
  let isAlive = true
  const kill = async () => {
    if (isAlive) process.kill(broker.pid, "SIGKILL")
    isAlive = false
    await broker.exited
  }
  return {
    address: () => broker.address,
    port: () => port,
    kill,
    restart: async () => {
      broker = await start(port)
      isAlive = true
    },
    freeze: () => void process.kill(broker.pid, "SIGSTOP"),
    thaw: () => void process.kill(broker.pid, "SIGCONT"),
    stop: async () => {
      // Its data is deleted with it, so a clean stop would only take longer.
      await kill()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
