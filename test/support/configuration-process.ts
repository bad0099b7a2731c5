/**
 * A member of an installation in a separate process: commands as JSON lines on standard input, answers on standard
 * output.
 */
import { createInterface } from "node:readline"
import { Effect, Exit } from "effect"
import { layerRowReaders } from "../../src/migrations/index.ts"
import { type Address, makeMember, type Room } from "./configuration-room.ts"

interface Command {
  readonly do: "read" | "write"
  readonly organizationId: string
  readonly id: string
}

const serve = (room: Room) =>
  Effect.callback<never>(() => {
    const lines = createInterface({ input: process.stdin })
    lines.on("line", (line) => {
      const { do: act, id, organizationId } = JSON.parse(line) as Command
      Effect.runCallback(
        Effect.map(
          act === "read" ? room.read(organizationId, id) : room.write(organizationId, id),
          (value) => value ?? null
        ),
        {
          onExit: (exit) =>
            process.stdout.write(
              `${JSON.stringify(Exit.isSuccess(exit) ? { value: exit.value } : { failed: String(exit.cause) })}\n`
            )
        }
      )
    })
    lines.on("close", () => process.exit(0))
    process.stdout.write('{"ready":true}\n')
  })

await Effect.runPromise(
  Effect.scoped(
    Effect.provide(Effect.flatMap(makeMember(JSON.parse(process.argv[2]!) as Address), serve), layerRowReaders)
  )
)
