/**
 * An installation of two of our processes for `bench events --kafka`: an API process and a stream process over a
 * broker and a Postgres that this run starts.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { kafkaVersionDefault, startKafka } from "../../src/cli/kafka.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { type RunningProgram, runtimeCommand, startServer } from "../harness/program.ts"

interface Installation {
  readonly server: RunningProgram
  readonly streamsPid: number
  readonly stop: () => Promise<void>
}

export const startInstallation = async (visitorPartitions: number): Promise<Installation> => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-bench-kafka-"))
  const undo: Array<() => Promise<void> | void> = [() => rmSync(folder, { recursive: true, force: true })]
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const postgres = await startEmbeddedPostgres(join(folder, "postgres"))
    undo.push(postgres.stop)
    const jarsFolder = fileURLToPath(new URL("../../node_modules/.cache/dowser-kafka", import.meta.url))
    const broker = await startKafka({
      folder: join(folder, "kafka"),
      jarsFolder,
      port: 0,
      version: kafkaVersionDefault,
      report: (text) => process.stderr.write(`${text}\n`)
    })
    undo.push(broker.stop)
    const meeting = [
      "--kafka-brokers",
      broker.address,
      "--visitor-partitions",
      String(visitorPartitions),
      "--database-url",
      `postgres://${postgres.username}:${postgres.password}@${postgres.host}:${postgres.port}/${postgres.database}`
    ]
    const server = await startServer(["--mode", "distributed", ...meeting])
    undo.push(server.stop)
    const [binary, ...flags] = runtimeCommand()
    const streams: ChildProcess = spawn(
      binary!,
      [
        ...flags,
        fileURLToPath(new URL("../../src/main.ts", import.meta.url)),
        "streams",
        "--data-dir",
        join(folder, "streams"),
        ...meeting
      ],
      {
        stdio: "inherit",
        env: { ...process.env, DOWSER_MODELS: "off", DOWSER_PARENT_PID: String(process.pid) }
      }
    )
    undo.push(() => {
      const gone = new Promise<void>((settle) => streams.once("exit", () => settle()))
      streams.kill("SIGTERM")
      return gone
    })
    return { server, streamsPid: streams.pid ?? 0, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
