/** Fills an engine with the documents of a bench. */
import {
  createCollection,
  importDocuments,
  memoryResources,
  type OperationContext
} from "../../engine-sdk/src/operations/mod.ts"
import type { Inputs } from "./inputs.ts"

export const contextOver = (engine: OperationContext["engine"]): OperationContext => ({
  engine,
  resources: memoryResources(),
  namespace: "bench",
  now_s: 1,
  limits: { answer_bytes_max: 16_000_000 }
})
/** Throws if a document is rejected. */
export const filled = async (context: OperationContext, { documents, schema }: Inputs): Promise<void> => {
  const made = await createCollection(context, JSON.stringify(schema))
  if (!made.ok) throw new Error(made.error.message)
  await imported(context, schema.name, documents)
}
/** Imports into an existing collection. */
export const imported = async (
  context: OperationContext,
  collection: string,
  documents: { readonly length: number; slice(from: number, to: number): Iterable<string> }
): Promise<void> => {
  const started = importDocuments(
    context,
    collection,
    (async function* () {
      for (let at = 0; at < documents.length; at += 10_000)
        yield new TextEncoder().encode(`${[...documents.slice(at, at + 10_000)].join("\n")}\n`)
    })(),
    {}
  )
  if (!started.ok) throw new Error(started.error.message)
  for await (const lines of started.value.lines)
    if (lines.includes('"success":false')) throw new Error(`A document was refused: ${lines.slice(0, 300)}`)
}
