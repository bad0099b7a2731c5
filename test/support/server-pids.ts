/** The processes of a server. */
import { readdirSync, readFileSync } from "node:fs"

/** Pids of a server and its child processes. */
export const serverPids = (postmaster: number): ReadonlyArray<number> => [
  postmaster,
  ...readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return (
          Number(
            readFileSync(`/proc/${pid}/stat`, "utf8")
              .replace(/^.*\) /, "")
              .split(" ")[1]
          ) === postmaster
        )
      } catch {
        return false
      }
    })
]
