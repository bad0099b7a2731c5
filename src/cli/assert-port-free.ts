/** Whether a port can be listened on, before anything else is begun. */
import { createServer } from "node:net"
import { Effect } from "effect"
import { StartRefused } from "../runtime/data-folder.ts"

/** Asked before anything starts, so that a taken port costs no time and leaves nothing behind. */
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
