/** The client's address behind proxies. Pure. */
import { isInCidrs } from "../net/network-address.ts"

const FORWARDED_MAX = 50

/**
 * The address of the connection; if that is a trusted proxy, the last address in `X-Forwarded-For` that is not one.
 * Any client can write the entries before it, and without a trusted proxy the entire header.
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
  // A hop that is not an address does not belong to a proxy either: it matches no list.
  return hops.findLast((hop) => !isInCidrs(hop, proxies)) ?? hops[0] ?? peer
}
/** Removes the port that some proxies write. */
const bare = (hop: string): string =>
  /^\[([^\]]+)\](?::\d+)?$/.exec(hop.trim())?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop.trim())?.[1] ?? hop.trim()
