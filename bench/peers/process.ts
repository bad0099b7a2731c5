/** Runs a peer as a separate process on one thread, with its inputs and its results in files. */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Texts } from "../inputs/texts.ts"

export interface PeerFigures {
  readonly import_docs_per_s: number
  readonly index_bytes_per_doc: number
  readonly qps: number
  /** Only if the peer reports it. */ readonly queries_per_processor_s?: number
  readonly p50_ms: number
  readonly p95_ms: number
  readonly p99_ms: number
  readonly queries: ReadonlyArray<{
    readonly ms: number
    readonly found: number
    readonly ids: ReadonlyArray<string>
    readonly facets: Readonly<Record<string, ReadonlyArray<readonly [string, number]>>>
  }>
}
export interface PeerInput {
  readonly documents: Texts
  readonly schema: unknown
  readonly queries: ReadonlyArray<unknown>
  readonly warm: ReadonlyArray<unknown>
}

/** `program` receives the files of documents, schema, queries, warm-up and results, and a folder for the index. */
export const runPeer = (
  name: string,
  input: PeerInput,
  program: (files: ReadonlyArray<string>) => { readonly command: string; readonly arguments: ReadonlyArray<string> }
): PeerFigures => {
  const work = mkdtempSync(join(tmpdir(), "dowser-peer-run-"))
  try {
    const file = (name: string, text: string | Uint8Array) => {
      writeFileSync(join(work, name), text)
      return join(work, name)
    }
    mkdirSync(join(work, "index"))
    const asked = program([
      file("docs.jsonl", input.documents.bytes()),
      file("schema.json", JSON.stringify(input.schema)),
      file("queries.jsonl", input.queries.map((each) => JSON.stringify(each)).join("\n")),
      file("warm.jsonl", input.warm.map((each) => JSON.stringify(each)).join("\n")),
      join(work, "out.json"),
      join(work, "index")
    ])
    const run = spawnSync(asked.command, asked.arguments, { encoding: "utf8", maxBuffer: 1 << 26 })
    if (run.status !== 0) throw new Error(`The ${name} peer failed: ${String(run.error ?? run.stderr).slice(-800)}`)
    return JSON.parse(readFileSync(join(work, "out.json"), "utf8")) as PeerFigures
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
