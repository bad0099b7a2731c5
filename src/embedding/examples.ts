/** Descriptions of the operations, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  createEmbeddings: {
    description:
      "Makes a vector of each text: up to 100 texts of 8,192 characters. `model` is one of this program (`dowser/minilm-l6-v2`: English, 384 numbers, of the first 256 tokens) or the organization's own; without it, its own where it has one. It costs 0.05 credits a started 1,000 characters.",
    example: { body: { input: ["a quiet fridge", "a lamp for reading"] } }
  }
} as const satisfies Readonly<Record<string, Described>>
