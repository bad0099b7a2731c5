/** Servers of the Typesense API in this process, whose answers a test may change. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import { memoryResources } from "../../engine-sdk/src/operations/mod.ts"
import { routerOver } from "./operation-router.ts"

export type Answering = (request: IncomingMessage, response: ServerResponse, body: string) => void | Promise<void>
export interface TestNode {
  readonly address: string
  /** Method and address of every request. */ readonly asked: Array<string>
  answer: Answering
  readonly stop: () => Promise<unknown>
}
export const startNode = async (answer: Answering): Promise<TestNode> => {
  const asked: Array<string> = []
  const server = createServer((request, response) => {
    const chunks: Array<Uint8Array> = []
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk))
    request.on("end", () => {
      asked.push(`${request.method} ${request.url}`)
      void own.answer(request, response, Buffer.concat(chunks).toString())
    })
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  const { port } = server.address() as { readonly port: number }
  const stop = (): Promise<unknown> => {
    server.closeAllConnections()
    return new Promise((settle) => server.close(settle))
  }
  const own: TestNode = { address: `http://127.0.0.1:${port}`, asked, answer, stop }
  return own
}
/** Nodes of one server that implements the API: this project's operations over an engine in memory. */
export const keepingToTheApi = (): Answering => {
  const wire = routerOver({ engine: createEngine(), resources: memoryResources(), namespace: "all" })
  return async (request, response, body) => {
    const { status, text } = await wire(request.method!, request.url!, body)
    response.writeHead(status, { "content-type": "application/json" }).end(text)
  }
}
