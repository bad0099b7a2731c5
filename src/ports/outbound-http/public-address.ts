/**
 * Which addresses an outbound connection may reach. Pure. An address typed into a webhook must not reach anything that
 * only this machine or its network can reach. Only globally routable unicast passes (IANA special-purpose registries,
 * RFC 6890), and an IPv6 address that embeds an IPv4 one (mapped, 6to4, NAT64) is judged by the latter.
 */
import { addressBits, type AddressRange, isInRange, parseCidr } from "../../net/network-address.ts"

const specialIpv4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4"
]
/** Ranges inside 2000::/3, which contains all globally routed IPv6 addresses. */
const specialIpv6 = ["2001::/23", "2001:db8::/32", "3fff::/20"]

const rangeOf = (text: string): AddressRange => {
  const range = parseCidr(text)
  if (range === undefined) throw new Error(`${text} is not a range`)
  return range
}
const special4 = specialIpv4.map(rangeOf)
const special6 = specialIpv6.map(rangeOf)
const mapped = rangeOf("::ffff:0:0/96")
const nat64 = rangeOf("64:ff9b::/96")
const sixToFour = rangeOf("2002::/16")
const global = rangeOf("2000::/3")
const asMapped = (ipv4: bigint): bigint => (0xffffn << 32n) | (ipv4 & 0xffff_ffffn)

const isPublicBits = (address: bigint): boolean => {
  if (isInRange(address, mapped)) return !special4.some((range) => isInRange(address, range))
  if (isInRange(address, nat64)) return isPublicBits(asMapped(address))
  if (isInRange(address, sixToFour)) return isPublicBits(asMapped(address >> 80n))
  return isInRange(address, global) && !special6.some((range) => isInRange(address, range))
}

/**
 * Also false for text that is not an address. A zone (`%eth0`) is ignored: only link-local addresses have one.
 * O(ranges).
 */
export const isPublicAddress = (text: string): boolean => {
  const bits = addressBits(text)
  return bits !== undefined && isPublicBits(bits)
}
