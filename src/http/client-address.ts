/** Whose request it is, where proxies stand in front. Pure. */
import { isInCidrs } from "../net/network-address.ts"

const FORWARDED_MAX = 50

/**
 * The address of the connection; where that is a proxy of ours, the last address in `X-Forwarded-For` that is none.
 * What stands before it was written by somebody we do not know, and without a proxy of ours the whole header was.
 */
export const clientAddress = (
  peer: string,
  forwarded: string | ReadonlyArray<string> | undefined,
  proxies: ReadonlyArray<string>
): string => {
  if (forwarded === undefined || proxies.length === 0 || !isInCidrs(peer, proxies)) return peer
  const hops = (typeof forwarded === "string" ? forwarded : forwarded.join(","))
    .split(",")
    .slice(-FORWARDED_MAX)
    .map(bare)
  // A hop that is no address still is not the proxy's: it is nobody's, and no list has it.
  return hops.findLast((hop) => !isInCidrs(hop, proxies)) ?? hops[0] ?? peer
}
/** Without a port, as some proxies write one. */
const bare = (hop: string): string =>
  /^\[([^\]]+)\](?::\d+)?$/.exec(hop.trim())?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop.trim())?.[1] ?? hop.trim()
