/** How many live streams may be open at once: in the process, and per organization, key and session. Pure. */
import type { Places } from "../../http/open-places.ts"
import type { Caller } from "../../identity/caller.ts"
import { ALL_STREAMS } from "../voice-search.ts"

/** A stream keeps up to 5 MB of audio in memory. */
const OF_PROCESS_MAX = 1_000,
  OF_ORGANIZATION_MAX = 300,
  OF_KEY_MAX = 250,
  OF_SESSION_MAX = 5

interface Streaming extends Pick<Caller, "organizationId" | "scope" | "sessionId"> {
  readonly key: Pick<Caller["key"], "id">
}
export const placesOfStream = ({ key, organizationId, scope, sessionId }: Streaming): Places => [
  [ALL_STREAMS, OF_PROCESS_MAX],
  [organizationId, OF_ORGANIZATION_MAX],
  [`${organizationId} ${key.id}`, OF_KEY_MAX],
  ...(scope === "full" ? [] : [[`${organizationId} of ${sessionId}`, OF_SESSION_MAX] as const])
]
