/** IP addresses and ranges as numbers: what key restrictions and the check of outbound connections compare. */
import { isIP } from "node:net"

const ipv4Bits = (text: string): bigint | undefined => {
  const parts = text.split(".").map(Number)
  return parts.length === 4 && parts.every((part) => Number.isInteger(part) && part >= 0 && part <= 255)
    ? parts.reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
    : undefined
}

/** Address as 128 bits; IPv4 is in ::ffff:0:0/96, so that a mapped address and its IPv4 form are equal. */
export const addressBits = (text: string): bigint | undefined => {
  const bare = text.replace(/%.*$/, "")
  if (isIP(bare) === 4) {
    const v4 = ipv4Bits(bare)
    return v4 === undefined ? undefined : (0xffffn << 32n) | v4
  }
  if (isIP(bare) !== 6) return undefined
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(bare)
  let words = bare
  if (dotted !== null) {
    const v4 = ipv4Bits(dotted[2]!)
    if (v4 === undefined) return undefined
    words = `${dotted[1]}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`
  }
  const [head = "", tail] = words.split("::")
  const left = head === "" ? [] : head.split(":")
  const right = tail === undefined || tail === "" ? [] : tail.split(":")
  const middle = tail === undefined ? [] : Array<string>(8 - left.length - right.length).fill("0")
  const all = [...left, ...middle, ...right]
  return all.length === 8 ? all.reduce((bits, word) => (bits << 16n) | BigInt(parseInt(word, 16)), 0n) : undefined
}

/** A range as its first address and the number of bits, of 128, that all of its addresses share. */
export interface AddressRange {
  readonly bits: bigint
  readonly length: number
}
/** `10.0.0.0/8`, `2001:db8::/32` or a single address. */
export const parseCidr = (text: string): AddressRange | undefined => {
  const [address = "", suffix] = text.split("/")
  const bits = addressBits(address)
  if (bits === undefined) return undefined
  const width = isIP(address) === 4 ? 32 : 128
  const length = suffix === undefined ? width : /^\d{1,3}$/.test(suffix) ? Number(suffix) : -1
  return length < 0 || length > width ? undefined : { bits, length: length + (128 - width) }
}

/** Whether an address is in a range. */
export const isInRange = (address: bigint, { bits, length }: AddressRange): boolean =>
  address >> BigInt(128 - length) === bits >> BigInt(128 - length)

/**
 * Decision: not `net.BlockList`. Deno's finds no IPv4 address in `::/0` and no address with a zone in any range. The
 * network of an address, and the IPv4 address inside an IPv6 one, need its bits in any case, and a second parser of
 * addresses could disagree with the first.
 */
export const isInCidrs = (address: string, cidrs: ReadonlyArray<string>): boolean => {
  const bits = addressBits(address)
  return (
    bits !== undefined &&
    cidrs.some((text) => {
      const range = parseCidr(text)
      return range !== undefined && isInRange(bits, range)
    })
  )
}

/**
 * What counts as one client when addresses are counted: an IPv4 address, also written as IPv6, and the /64 of an IPv6
 * address, because its holder owns all of it. All texts that are not addresses count as one network, because they are
 * invented.
 */
export const networkOf = (address: string): string => {
  // The usual form from sockets.
  const plain = address.startsWith("::ffff:") ? address.slice(7) : address
  if (isIP(plain) === 4) return plain
  const bits = addressBits(address)
  if (bits === undefined) return "?"
  return bits >> 32n === 0xffffn
    ? [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join(".")
    : `${(bits >> 64n).toString(16)}:`
}
