/**
 * Names of collections on a server that holds those of all tenants: the one module that knows how namespace and name
 * become one name there, and back. No two pairs share a name, whatever characters they contain, and names that were not
 * written by this module belong to nobody.
 */
import type { Namespace } from "../engine.ts"

const ESCAPE = "_"
const BETWEEN = "-"
const PLAIN = /^[A-Za-z0-9]$/
/** Letters and digits stay; any other UTF-16 unit (even half a character) becomes `_` and four digits, `_` two. */
const escaped = (text: string): string => {
  let out = ""
  for (let i = 0; i < text.length; i++) {
    const unit = text[i]!
    if (PLAIN.test(unit)) out += unit
    else if (unit === ESCAPE) out += ESCAPE + ESCAPE
    else out += ESCAPE + unit.charCodeAt(0).toString(16).padStart(4, "0")
  }
  return out
}
/** undefined for a text that `escaped` never produces. */
const unescaped = (text: string): string | undefined => {
  const out = text.replace(/_(_|[0-9a-f]{4})/g, (_whole, code: string) =>
    code === ESCAPE ? ESCAPE : String.fromCharCode(parseInt(code, 16))
  )
  return escaped(out) === text ? out : undefined
}

interface Placed {
  readonly namespace: Namespace
  readonly name: string
}
export class ServerNames {
  readonly #begin: string
  constructor(prefix: string) {
    this.#begin = prefix + BETWEEN
  }
  /** The name on the server: letters, digits, `_` and `-`. */
  of(namespace: Namespace, name: string): string {
    return `${this.#begin}${escaped(namespace)}${BETWEEN}${escaped(name)}`
  }
  /** undefined for a name that belongs to no namespace of this installation. */
  read(serverName: string): Placed | undefined {
    if (!serverName.startsWith(this.#begin)) return undefined
    const parts = serverName.slice(this.#begin.length).split(BETWEEN)
    const [namespace, name] = parts.map(unescaped)
    return parts.length !== 2 || namespace === undefined || name === undefined ? undefined : { namespace, name }
  }
  /** Rewrites a server message for the tenant: with its own names, and without the form they have on the server. */
  translate(namespace: Namespace, sentence: string): string {
    const own = `${this.#begin}${escaped(namespace)}${BETWEEN}`
    let out = "",
      from = 0
    for (let at = sentence.indexOf(own); at >= 0; at = sentence.indexOf(own, from)) {
      const [name = ""] = /^\w*/.exec(sentence.slice(at + own.length)) ?? []
      out += sentence.slice(from, at) + (unescaped(name) ?? "")
      from = at + own.length + name.length
    }
    return out + sentence.slice(from)
  }
}
