import http from "node:http"
let n = 0
const server = http.createServer((req, res) => {
  n++
  console.log("asked", n, req.url)
  if (req.url === "/a") res.end("x")
})
await new Promise<void>((r) => server.listen(0, "127.0.0.1", () => r()))
const port = (server.address() as any).port
const agent = new http.Agent({ keepAlive: true })
const ask = (path: string, ms?: number) =>
  new Promise<void>((settle) => {
    const c = http.request({ host: "127.0.0.1", port, path, method: "POST", agent }, (res) => {
      res.on("data", () => {})
      res.on("end", () => settle())
    })
    c.on("error", (e: any) => {
      console.log("error", e.code, c.reusedSocket)
      settle()
    })
    c.on("close", () => console.log("close", path))
    c.end("body")
    if (ms) setTimeout(() => c.destroy(), ms)
  })
await ask("/a")
await new Promise((r) => setTimeout(r, 20))
await ask("/never", 100)
await new Promise((r) => setTimeout(r, 500))
console.log(n)
server.closeAllConnections()
server.close()
