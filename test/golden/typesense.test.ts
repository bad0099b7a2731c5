/**
 * Sends the requests of the golden records to the engine in memory and to the engine over a server of the Typesense
 * API: the answers are identical word for word, except for requests that are refused by name. Skipped by name where the
 * recordings are absent.
 */
import { expect, it } from "vitest"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import { memoryResources } from "../../engine-sdk/src/operations/mod.ts"
import { TypesenseEngine } from "../../engine-sdk/src/typesense/mod.ts"
import { routerOver } from "../support/operation-router.ts"
import { keepingToTheApi, startNode } from "../support/typesense-node.ts"
import { hasRecordings, recordings } from "./replay.ts"

/** Removes times and the ids that a server generates. */
const timeless = (text: string): string =>
  text.replace(/"(search_time_ms|created_at)":[\d.]+/g, "").replace(/"id":"[0-9a-f-]{20,}"/g, "")

it("answers golden requests over the API as in memory", async (context) => {
  if (!hasRecordings())
    return context.skip(
      "golden lane: the recordings of the reference engine are not beside the project (../shared/data/engine_golden)"
    )
  const node = await startNode(keepingToTheApi())
  const opened = await TypesenseEngine.open({ nodes: [node.address], apiKey: "k" })
  if (!opened.ok) throw new Error(opened.error.message)
  const engines = [createEngine(), opened.value] as const
  const [near, far] = engines.map((engine) => routerOver({ engine, resources: memoryResources(), namespace: "golden" }))
  const groups = new Map<string, { asked: number; same: number; refused: number }>()
  const differing: Array<string> = []
  try {
    for (const { body, record } of recordings()) {
      const wanted = await near!(record.method, record.path, body)
      const found = await far!(record.method, record.path, body)
      const group = groups.get(record.group) ?? { asked: 0, same: 0, refused: 0 }
      groups.set(record.group, group)
      group.asked++
      if (found.text.includes("(a server of the Typesense API) has no ")) group.refused++
      else if (wanted.status === found.status && timeless(wanted.text) === timeless(found.text)) group.same++
      else differing.push(`${record.id} ${record.method} ${record.path}`)
    }
  } finally {
    for (const engine of engines) await engine.close()
    await node.stop()
  }
  const all = [...groups.values()].reduce(
    (sum, { asked, refused, same }) => ({
      asked: sum.asked + asked,
      same: sum.same + same,
      refused: sum.refused + refused
    }),
    { asked: 0, same: 0, refused: 0 }
  )
  console.info(
    [...groups, ["all", all] as const]
      .map(([name, one]) => [name, one.asked, one.same, one.refused].join("\t"))
      .join("\n")
  )
  // Where a curation or stopwords removed words of a query, highlights refer to the original query.
  expect(all.same / (all.asked - all.refused), differing.join("\n")).toBeGreaterThanOrEqual(0.998)
  expect([...groups].filter(([, { refused }]) => refused > 0).map(([name]) => name)).toEqual(["synonyms"])
})
