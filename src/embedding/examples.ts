/** Descriptions of the operations, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  createEmbeddings: {
    description:
      "Computes a vector for each text: up to 100 texts of 8,192 characters. `model` is a built-in one (`dowser/minilm-l6-v2`: English, 384 numbers, reads the first 256 tokens) or the organization's own, which is the default if there is one. It costs 0.05 credits for every 1,000 characters begun.",
    example: { body: { input: ["a quiet fridge", "a lamp for reading"] } }
  }
} as const satisfies Readonly<Record<string, Described>>
