/**
 * A text as the ids of its word pieces, at most as many as the model reads. The tokenizer gets no more of a text than
 * is needed for that, because 8,000 random letters would take it half a second.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Tokens } from "../inference/engine.ts"
import { TOKENS_MAX } from "./graph.ts"
import { LAYOUT, requireFrom } from "./layout.ts"

interface Tokenizer {
  readonly encode: (
    text: string,
    options: { readonly add_special_tokens: boolean }
  ) => {
    readonly ids: ReadonlyArray<number>
  }
}
const BEGIN = 101,
  END = 102
/** Characters given to the tokenizer at a time; a text of ordinary words takes three such pieces. */
const PIECE_CHARACTERS = 512
/**
 * A text can be cut after one of these: no word continues across it. Brackets are part of the model's own markers
 * (`[CLS]`).
 */
const CUT = /[\s.,;:!?/|"'()*+\-_=<>~\p{Pd}\p{Po}]/u

/** Pieces whose tokens, one after the other, are those of the text. */
export function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    let to = from + PIECE_CHARACTERS
    if (to < text.length) {
      const cut = text.slice(to).search(CUT)
      to = cut < 0 ? text.length : to + cut + 1
    }
    yield text.slice(from, to)
    from = to
  }
}

/** Takes a quarter of a second of a thread and 25 MB. A text without a word has no tokens. */
export const loadTokens = (folder: string): Tokens => {
  const { Tokenizer } = requireFrom(folder)(join(folder, LAYOUT.tokenizers)) as {
    readonly Tokenizer: new (tokenizer: unknown, configuration: unknown) => Tokenizer
  }
  const tokenizer = new Tokenizer(JSON.parse(readFileSync(join(folder, LAYOUT.tokenizer), "utf8")), {})
  return (text) => {
    const ids: Array<number> = [BEGIN]
    for (const piece of piecesOf(text)) {
      ids.push(...tokenizer.encode(piece, { add_special_tokens: false }).ids)
      if (ids.length >= TOKENS_MAX) break
    }
    if (ids.length === 1) return []
    return [...ids.slice(0, TOKENS_MAX - 1), END]
  }
}
