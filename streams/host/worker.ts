/** The entry of the stream worker's thread: runs `main.ts` over the thread's port and reports how it ends. */
import "@dowser/log/process/plain-fibers"
import "effect/schema/SchemaJITCompiler/enable"
import { Cause, Effect, Exit, Fiber, Logger } from "effect"
import { parentPort, workerData } from "node:worker_threads"
import { giveWayHere } from "@dowser/log/process/background"
import { layerTraces } from "@dowser/log/process/traces"
import { runStreams } from "./main.ts"
import type { FromStreams, StreamsPort, ToStreams, WorkerSettings } from "./messages.ts"

giveWayHere()

const listeners = new Set<(message: ToStreams) => void>()
const port: StreamsPort = {
  send: (message: FromStreams) => parentPort!.postMessage(message),
  onMessage: (listener) => void listeners.add(listener)
}

// Standard output is reserved for the program's own answers.
const toStandardError = Logger.layer([
  Logger.make(({ cause, date, logLevel, message }) => {
    const text = (Array.isArray(message) ? message : [message]).map(String).join(" ")
    process.stderr.write(
      `${date.toISOString()} ${logLevel} streams: ${text}${cause.reasons.length === 0 ? "" : `\n${Cause.pretty(cause)}`}\n`
    )
  })
])

const fail = (error: unknown) => {
  const { message, name, stack } = error instanceof Error ? error : new Error(String(error))
  port.send({ kind: "failed", name, message, stack })
  // The message is delivered at the end of the event loop's turn; exiting immediately would lose it.
  setTimeout(() => process.exit(1), 20)
}
process.on("uncaughtException", fail)
process.on("unhandledRejection", fail)

const fiber = Effect.runFork(
  Effect.provide(runStreams(workerData as WorkerSettings, port), [toStandardError, layerTraces("dowser-streams")])
)
fiber.addObserver((exit) => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return
  fail(Cause.squash(exit.cause))
})

parentPort!.on("message", (message: ToStreams) => {
  if (message.kind !== "stop") return listeners.forEach((listener) => listener(message))
  Effect.runFork(
    Effect.andThen(
      Fiber.interrupt(fiber),
      Effect.sync(() => {
        port.send({ kind: "stopped" })
        setTimeout(() => process.exit(0), 20)
      })
    )
  )
})
