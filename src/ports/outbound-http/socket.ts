/** One WebSocket to one address, from its handshake to its end. Connects to the address like `exchange.ts`. */
import { isIP } from "node:net"
import { WebSocket } from "ws"
import { OutboundFailure, type OutboundSocket, type OutboundSocketRequest } from "./outbound-http.ts"

export const socketAddress = (text: string): { readonly url: URL; readonly host: string } => {
  const url = new URL(text.replace(/^http/, "ws"))
  if (url.protocol !== "ws:" && url.protocol !== "wss:")
    throw new OutboundFailure({ kind: "refused_address", message: `${url.protocol} is not ws or wss` })
  return { url, host: url.hostname.replace(/^\[|\]$/g, "") }
}

/** Rejects with whatever failed before the upgrade. */
export const openSocket = (
  { headers, messageBytesMax, onClose, onText }: OutboundSocketRequest,
  url: URL,
  host: string,
  address: string,
  deadline: AbortSignal
): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const to = new URL(url)
    to.hostname = isIP(address) === 6 ? `[${address}]` : address
    const socket = new WebSocket(to, {
      headers: { ...headers, host: url.host },
      ...(url.protocol === "wss:" && isIP(host) === 0 ? { servername: host } : {}),
      followRedirects: false,
      perMessageDeflate: false,
      maxPayload: messageBytesMax
    })
    const onDeadline = () => {
      reject(deadline.reason as Error)
      socket.terminate()
    }
    deadline.addEventListener("abort", onDeadline, { once: true })
    socket.once("unexpected-response", (_, { statusCode }) => {
      const message = `It answered ${statusCode} to a WebSocket request`
      reject(new OutboundFailure({ kind: "refused_upgrade", message }))
      socket.terminate()
    })
    // After the handshake, errors are reported by the close event.
    socket.on("error", reject)
    socket.on("message", (data, isBinary) => {
      if (!isBinary) onText((data as Buffer).toString("utf8"))
    })
    socket.once("open", () => {
      deadline.removeEventListener("abort", onDeadline)
      socket.once("close", (code, reason) => onClose(code, reason.toString("utf8")))
      resolve(socket)
    })
  })

export const outboundSocket = (socket: WebSocket): OutboundSocket => ({
  send: (data) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(data)
  },
  unsentBytes: () => socket.bufferedAmount
})
