/**
 * How much meaning counts beside words in the fusion of ranks. Chosen by the query alone: what is asked in a sentence
 * is seldom written so in what answers it, and what is asked in a word or two mostly is. Pure. Judged by
 * `bench -- relevance --embedder minilm`.
 */
/** From so many words on. */
const STEPS: ReadonlyArray<readonly [words: number, alpha: number]> = [
  [8, 0.5],
  [5, 0.3],
  [0, 0.1]
]
export const alphaOf = (query: string): number => {
  const words = query.split(/\s+/).filter((word) => word !== "").length
  return STEPS.find(([from]) => words >= from)![1]
}
