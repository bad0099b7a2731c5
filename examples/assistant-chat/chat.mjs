// Reads server-sent events of an answer as they arrive. Plain Node, 20 or later.
import { createInterface } from "node:readline"

const { ASSISTANT, DOWSER_URL = "http://127.0.0.1:3100", SEARCH_KEY } = process.env
if (!ASSISTANT || !SEARCH_KEY) {
  console.error("ASSISTANT is the id of an assistant, SEARCH_KEY a search key.")
  process.exit(2)
}
const session = `terminal-${process.pid}`
let conversation

/**
 * The events of a stream: `event:` and `data:` lines, each followed by an empty line. Comments keep the connection
 * open.
 */
async function* eventsOf(stream) {
  let rest = ""
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    rest += text
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const lines = rest.slice(0, end).split("\n")
      rest = rest.slice(end + 2)
      const valueOf = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = valueOf("data")
      if (data !== undefined) yield { event: valueOf("event"), data: JSON.parse(data) }
    }
  }
}

const ask = async (content) => {
  const response = await fetch(`${DOWSER_URL}/v1/assistants/${ASSISTANT}/chat/completions`, {
    method: "POST",
    headers: { "x-svc-api-key": SEARCH_KEY, "x-svc-session-id": session },
    body: JSON.stringify({
      stream: true,
      messages: [{ role: "user", content }],
      ...(conversation === undefined ? {} : { conversation_id: conversation })
    })
  })
  if (!response.ok) return console.log(`(${response.status}) ${(await response.json()).message}`)
  for await (const { data, event } of eventsOf(response.body)) {
    if (event === "delta") process.stdout.write(data.content)
    if (event === "error") console.log(`\n${data.message}`)
    if (event !== "done") continue
    conversation = data.conversation_id
    process.stdout.write("\n")
    const cited = new Set(data.citations.map(({ source }) => source))
    for (const source of [...cited].sort((a, b) => a - b))
      console.log(`  [${source + 1}] ${data.sources[source].document.title ?? data.sources[source].document.id}`)
  }
}

const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: "> " })
terminal.prompt()
for await (const line of terminal) {
  if (line.trim() !== "") await ask(line.trim())
  terminal.prompt()
}
