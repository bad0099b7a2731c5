/**
 * The program's only entry: the command line. Schemas are compiled just in time, which must be enabled before any is
 * used.
 */
import "@dowser/log/process/plain-fibers"
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Effect, Exit, Logger } from "effect"
import { Command } from "effect/cli"
import { command } from "./cli/command.ts"
import { version } from "./config.ts"
import { StartRefused } from "./runtime/data-folder.ts"
import { keepPrivate } from "./runtime/private-files.ts"

keepPrivate()

// The launcher may be killed without notice: our parent process then changes, and we stop as if requested.
const parent = Number(process.env.DOWSER_PARENT_PID ?? 0)
if (parent > 0)
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, "SIGTERM")
  }, 250).unref()

const toStandardError = Logger.layer([
  Logger.make(({ cause, date, logLevel, message }) => {
    const text = (Array.isArray(message) ? message : [message]).map(String).join(" ")
    process.stderr.write(
      `${date.toISOString()} ${logLevel} ${text}${cause.reasons.length === 0 ? "" : `\n${Cause.pretty(cause)}`}\n`
    )
  })
])

command.pipe(
  Command.run({ version }),
  Effect.catchCause((cause) => {
    const refused = cause.reasons
      .map((reason) => (reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined))
      .find((error) => error instanceof StartRefused)
    if (refused === undefined && Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
    return Effect.sync(() => {
      process.stderr.write(`${refused === undefined ? Cause.pretty(cause) : refused.message}\n`)
      process.exitCode = 1
    })
  }),
  Effect.provide(toStandardError),
  Effect.provide(NodeServices.layer),
  (program) =>
    NodeRuntime.runMain(program, {
      // Standard output may be reserved for one JSON line; every failure was already reported on standard error.
      disableErrorReporting: true,
      // A clean stop on request counts as success.
      teardown: (exit, onExit) =>
        onExit(Exit.isSuccess(exit) ? Number(process.exitCode ?? 0) : Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
    })
)
