/**
 * Addresses in texts: where one begins and ends according to Markdown renderers, and which are equal. Pure. If
 * renderers differ, the longer address counts, because its author may have hidden something in its tail.
 */
const ADDRESS =
  /(?:[a-z][a-z0-9+.-]{0,20}:\/\/|www\.(?=[^\s.])|(?:mailto|javascript|vbscript|xmpp):(?=\S)|data:(?=[\w.+-]{0,80}[/;,])|(?<![a-z0-9:/])\/\/(?=[^\s/]))[^\s<>"`]*|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/gi
const EMAIL = /^[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+$/
const PUNCTUATION = /[?!.,:;*_~'’)\]}|\\]$/
const TRIMMED_MAX = 8
const PASSES_MAX = 8
/** Characters that may follow an allowed address: a renderer that includes them in the address reveals nothing. */
const BEHIND = /^[.,;:!?)*_'"”’»]{0,3}(?:\s|$)/
/** Letters and punctuation of scripts that put no space after an address. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\u3001-\u3003\u3008-\u3011\uff01-\uff5e]/u
const ENCLOSED = /[)\]}'|\\]/
const ADDRESS_MAX = 2_000

/** A normal form, equal for equal destinations; undefined for an address that an answer may not contain. */
export const placeOf = (address: string): string | undefined => {
  const bare = address.trim()
  if (bare.length > ADDRESS_MAX) return undefined
  const whole = /^www\./i.test(bare)
    ? `http://${bare}`
    : bare.startsWith("//")
      ? `http:${bare}`
      : EMAIL.test(bare)
        ? `mailto:${bare}`
        : bare
  if (!URL.canParse(whole)) return undefined
  const { hash, host, pathname, protocol, search, username } = new URL(whole)
  if (protocol === "mailto:") return `mailto:${pathname.toLowerCase()}${search}${hash}`
  if ((protocol !== "http:" && protocol !== "https:") || username !== "") return undefined
  return `${host}${pathname}${search}${hash}`
}

/** The address with and without its trailing punctuation. */
const endings = (address: string): ReadonlyArray<string> => {
  const all = [address]
  while (all.length <= TRIMMED_MAX && PUNCTUATION.test(all.at(-1)!)) all.push(all.at(-1)!.slice(0, -1))
  return all
}
const before = (text: string, end: RegExp): string | undefined => {
  const at = text.search(end)
  return at < 0 ? undefined : text.slice(0, at)
}

/** Every address in a text, in each way in which it may end. */
export const addressesIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(ADDRESS)].flatMap(([found]) => {
    const cuts = [before(found, UNSPACED), before(found, ENCLOSED)]
    return [found, ...cuts.filter((cut) => cut !== undefined)].flatMap(endings)
  })

/**
 * A word without its forbidden addresses. Removing one may form another from the surrounding text, so the result is
 * examined again, and a word that never settles is dropped.
 */
export const withoutAddresses = (word: string, isAllowed: (address: string) => boolean): string => {
  let before = word
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const after = onePass(before, isAllowed)
    if (after === before) return after
    before = after
  }
  return ""
}
/** One pass. A space or punctuation must follow an allowed address. */
const onePass = (word: string, isAllowed: (address: string) => boolean): string => {
  let out = "",
    at = 0
  for (;;) {
    ADDRESS.lastIndex = at
    const found = ADDRESS.exec(word)
    if (found === null) return out + word.slice(at)
    const [address] = found
    const head = before(address, UNSPACED)
    out += word.slice(at, found.index)
    const whole = endings(address).find(isAllowed)
    const part = whole === undefined && head !== undefined ? endings(head).find(isAllowed) : undefined
    const kept = whole ?? part
    const end = head ?? address
    at = found.index + (kept ?? endings(end).at(-1)!).length
    if (kept !== undefined) out += BEHIND.test(word.slice(at)) ? kept : `${kept} `
    // The tail of a removed address may form another one.
    if (kept === undefined && at === found.index) at += end.length
  }
}
