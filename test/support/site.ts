/** A web site on loopback for crawls: pages by path, and every request received. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export type SitePage =
  | string
  | {
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string | Uint8Array
    }
  | ((response: ServerResponse, request: IncomingMessage) => void)

interface Asked {
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly began: number
  ended: number
}
export interface Site {
  readonly origin: string
  readonly port: number
  readonly pages: Map<string, SitePage>
  /** Answers requests that no page matches. */ fallback: ((path: string) => SitePage) | undefined
  readonly asked: Array<Asked>
  readonly paths: () => ReadonlyArray<string>
  readonly stop: () => Promise<void>
}

export const startSite = async (pages: Readonly<Record<string, SitePage>> = {}): Promise<Site> => {
  const server = createServer((request, response) => {
    const path = request.url ?? "/"
    const one: Asked = {
      path,
      headers: request.headers as Record<string, string>,
      began: performance.now(),
      ended: Number.POSITIVE_INFINITY
    }
    site.asked.push(one)
    response.on("close", () => {
      one.ended = performance.now()
    })
    const page = site.pages.get(path) ?? site.fallback?.(path) ?? { status: 404, body: "nothing here" }
    if (typeof page === "function") return page(response, request)
    const { body = "", headers = {}, status = 200 } = typeof page === "string" ? { body: page } : page
    response.writeHead(status, { "content-type": "text/html; charset=utf-8", ...headers }).end(body)
  })
  await new Promise<void>((settle) => server.listen(0, "0.0.0.0", settle))
  const { port } = server.address() as AddressInfo
  const site: Site = {
    origin: `http://127.0.0.1:${port}`,
    port,
    pages: new Map(Object.entries(pages)),
    fallback: undefined,
    asked: [],
    paths: () => site.asked.map(({ path }) => path),
    stop: async () => {
      server.closeAllConnections()
      await new Promise((settle) => server.close(settle))
    }
  }
  return site
}

/** A whole page around a body. */
export const html = (title: string, body: string, head = "") =>
  `<!doctype html><html lang="en"><head><title>${title}</title>${head}</head><body>${body}</body></html>`
