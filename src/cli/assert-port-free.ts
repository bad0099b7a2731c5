/** Checks whether a port is free before anything else starts. */
import { createServer } from "node:net"
import { Effect } from "effect"
import { StartRefused } from "../runtime/data-folder.ts"

/** Checked before anything starts, so that a taken port costs no time and leaves nothing behind. */
export const assertPortFree = (host: string, port: number, flag = "--port") =>
  Effect.callback<void, StartRefused>((resume) => {
    const probe = createServer()
    probe.once("error", (error: Error & { readonly code?: string }) =>
      resume(
        Effect.fail(
          new StartRefused(
            error.code === "EADDRINUSE"
              ? `Port ${port} on ${host} is taken; choose another with ${flag}.`
              : `Cannot listen on ${host}:${port}: ${error.message}.`
          )
        )
      )
    )
    probe.listen(port, host, () => probe.close(() => resume(Effect.void)))
  })
