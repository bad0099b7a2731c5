/** Address and key of a server of the Typesense API, and limits of a request to it. */
export interface TypesenseOptions {
  /**
   * Addresses of its nodes, `https://host:8108`, with the base path of the API if there is one (`http://host:7700/v1`).
   * All of them have the same collections.
   */
  readonly nodes: ReadonlyArray<string>
  /** A key with all rights: one server holds the collections of all tenants. */ readonly apiKey: string
  /** The header that the key travels in. Default: `x-typesense-api-key`. */ readonly keyHeader?: string
  /**
   * Every collection begins with it: installations that share a server have different ones. Letters, digits, `_` and
   * `-`. Default: `dowser`.
   */
  readonly prefix?: string
  /** Of a request that is no search, over all nodes that are tried. Default: 30,000. */ readonly timeout_ms?: number
  /** Size of one answer of the server. Default: 64 MiB. */ readonly answerBytes_max?: number
  /** How often others' changes are looked for, if that is quick. Default: 1,000. */ readonly follow_ms?: number
  /** Requests running at once, of all tenants. Default: 64. */ readonly atOnce_max?: number
  /** The same of one tenant. Default: 16. */ readonly atOncePerNamespace_max?: number
}
export const PREFIX = /^[A-Za-z0-9_-]{1,64}$/
