/** A process that shares its engine, for `remote-engine`. It ends with its parent. */
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import { shareEngine } from "../../engine-sdk/src/remote/mod.ts"

const token = process.argv.at(-1)!
const { port } = await shareEngine(createEngine(), { host: "127.0.0.1", port: 0, token })
process.stdin.on("end", () => process.exit(0)).resume()
process.stdout.write(`${port}\n`)
