/** Address and key of a server of the Typesense API, and limits of a request to it. */
export interface TypesenseOptions {
  /**
   * Addresses of its nodes, `https://host:8108`, including the base path of the API if there is one
   * (`http://host:7700/v1`). All nodes must have the same collections.
   */
  readonly nodes: ReadonlyArray<string>
  /** A key with all rights, because one server holds all tenants' collections. */ readonly apiKey: string
  /** The header in which the key is sent. Default: `x-typesense-api-key`. */ readonly keyHeader?: string
  /**
   * Prefix of every collection name; installations that share a server use different ones. Letters, digits, `_` and
   * `-`. Default: `dowser`.
   */
  readonly prefix?: string
  /** For requests that are not searches, over all nodes tried. Default: 30,000. */ readonly timeout_ms?: number
  /** Maximum size of one response of the server. Default: 64 MiB. */ readonly answerBytes_max?: number
  /** How often others' changes are read, if that is quick. Default: 1,000. */ readonly follow_ms?: number
  /** Maximum concurrent requests of all tenants. Default: 64. */ readonly atOnce_max?: number
  /** Maximum concurrent requests of one tenant. Default: 16. */ readonly atOncePerNamespace_max?: number
}
export const PREFIX = /^[A-Za-z0-9_-]{1,64}$/
