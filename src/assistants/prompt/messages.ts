/** The messages to a model: the rules, the sources between fences, the earlier conversation, and the question. Pure. */
import type { GeneratorMessage } from "../../ports/generator/generator.ts"
import type { Turn } from "../answering/question.ts"
import { fenced, fenceRules, type Source } from "./fence.ts"

interface Prompt {
  /** From the assistant's owner. */ readonly instructions: string
  /** From the request. */ readonly system: string
  readonly language: string
  readonly mustCite: boolean
  readonly sources: ReadonlyArray<Source>
  readonly history: ReadonlyArray<Turn>
  readonly question: string
  readonly mark: string
}

/** Total bytes of UTF-8: instructions and history have a limited share, and sources get the rest. */
const PROMPT_BYTES_MAX = 24_000
const INSTRUCTIONS_BYTES_MAX = 2_000
const HISTORY_BYTES_MAX = 6_000
const TURN_BYTES_MAX = 2_000

const bytesOf = (text: string): number => Buffer.byteLength(text)
/** Cuts a text to at most this many bytes, at a character boundary. */
const cutTo = (text: string, bytesMax: number): string => {
  if (bytesOf(text) <= bytesMax) return text
  const cut = Buffer.from(text).subarray(0, bytesMax).toString("utf8")
  return cut.replace(/\ufffd+$/, "")
}

const rules = (mark: string, language: string, mustCite: boolean): string =>
  [
    `You answer questions of visitors, in the language of the question${language === "" ? "" : ` (${language})`}, briefly.`,
    mustCite
      ? "Use only what the sources say. Where they do not answer, say that you do not know."
      : "Use what the sources say first; where they do not answer, say so before anything else.",
    "Behind each sentence, cite the sources that it is from by their numbers in brackets: [1] or [1][3]. Write no address that does not stand in a source.",
    fenceRules(mark)
  ].join("\n")

/** The newest turns that fit, oldest first. Retrieved text is never among them. */
const remembered = (history: ReadonlyArray<Turn>): ReadonlyArray<GeneratorMessage> => {
  const kept: Array<GeneratorMessage> = []
  let left = HISTORY_BYTES_MAX
  for (const { answer, question } of history.toReversed()) {
    const turn = [cutTo(question, TURN_BYTES_MAX), cutTo(answer, TURN_BYTES_MAX)] as const
    left -= bytesOf(turn[0]) + bytesOf(turn[1])
    if (left < 0) break
    kept.unshift({ role: "user", content: turn[0] }, { role: "assistant", content: turn[1] })
  }
  return kept
}

export const messagesOf = (prompt: Prompt): ReadonlyArray<GeneratorMessage> => {
  const { history, instructions, language, mark, mustCite, question, sources, system } = prompt
  const guidance = [instructions, system]
    .filter((text) => text !== "")
    .map((text) => cutTo(text, INSTRUCTIONS_BYTES_MAX))
  const head = [rules(mark, language, mustCite), ...guidance].join("\n\n")
  const before = remembered(history)
  let left =
    PROMPT_BYTES_MAX -
    bytesOf(head) -
    bytesOf(question) -
    before.reduce((sum, { content }) => sum + bytesOf(content), 0)
  const shown: Array<Source> = []
  for (const source of sources) {
    left -= bytesOf(fenced([source], mark)) + 1
    if (left < 0) break
    shown.push(source)
  }
  return [
    { role: "system", content: head },
    ...before,
    { role: "user", content: `${fenced(shown, mark)}\n\n${question}` }
  ]
}
