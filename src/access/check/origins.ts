/** Matches origins against the list of a key. Pure. */

/** `https://shop.example`, or `*.shop.example` for every subdomain. */
export const originMatches = (origin: string, allowed: ReadonlyArray<string>): boolean => {
  const normal = origin.toLowerCase().replace(/\/+$/, "")
  const host = /^[a-z][a-z0-9+.-]*:\/\/([a-z0-9._:[\]-]+)$/.exec(normal)?.[1]?.replace(/:\d+$/, "")
  return allowed.some((entry) => {
    const pattern = entry.toLowerCase().replace(/\/+$/, "")
    if (pattern === "*" || pattern === normal || pattern === host) return true
    const suffix = /^(?:[a-z]+:\/\/)?\*(\..+)$/.exec(pattern)?.[1]
    return suffix !== undefined && host !== undefined && host.endsWith(suffix)
  })
}

/** A valid entry of `origins`: an origin, a host, or either with a leading `*.`. */
export const isOriginPattern = (text: string): boolean =>
  text === "*" ||
  (text.length <= 300 &&
    /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:\*\.)?(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::\d{1,5})?\/?$/i.test(
      text
    ))

/**
 * On the free plan, only subdomains of the service's own domain may be listed (`docs/contract/keys.md#origins`).
 * Without such a domain, keys of free organizations may list no origins.
 */
export const isOwnSubdomain = (entry: string, serviceDomain: string | undefined): boolean => {
  const host = entry
    .toLowerCase()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//, "")
    .replace(/\/+$/, "")
    .replace(/:\d+$/, "")
  return serviceDomain !== undefined && host.endsWith(`.${serviceDomain.toLowerCase()}`)
}
