/**
 * Sanitizes document text, which anybody may have written: removes invisible characters, and omits sentences that
 * address a model instead of a reader. This does not protect secrets; they are safe because an answer is made only of
 * what the key may see. Pure.
 */

/** Comments, elements that are not displayed, and tags. */
const MARKUP =
  /<!--[\s\S]*?(?:-->|$)|<(script|style|template|noscript)\b[\s\S]*?(?:<\/\1\s*>|$)|<\/?[a-z][^<>]{0,1000}>/gi
/** Invisible characters, except the joiners that some scripts need between letters. */
const UNSEEN = /(?![\u200c\u200d])[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g

/** The text as a reader sees it. O(text). */
export const plainText = (text: string): string =>
  text.toWellFormed().replace(MARKUP, " ").replace(UNSEEN, "").replace(CONTROL, " ")

const INSTRUCTIONS: ReadonlyArray<RegExp> = [
  /\b(?:ignore|disregard|forget|override|bypass)\b.{0,60}\b(?:instruction|prompt|rule|guideline|context|above|previous|prior|everything)/i,
  /\b(?:ignorier|vergiss|missachte)\w*\b.{0,60}(?:anweisung|regel|vorherig|bisherig|obig|alles)/i,
  /\b(?:ignora|olvida|descarta)\w*\b.{0,60}(?:instruccion|regla|anterior|previa|todo)/i,
  /\b(?:ignore[rz]?|oublie[rz]?)\b.{0,60}(?:instruction|consigne|règle|précédent)/i,
  /\b(?:system|developer|hidden|initial)\s*(?:prompt|message|instructions?)\b/i,
  /^\s*(?:\[|<|#+\s*)?(?:system|assistant|user|developer|inst)(?:\]|>)?\s*[:>]/i,
  /\byou are (?:now|no longer)\b|\bact as (?:an?|the)\b|\bpretend (?:to be|you are)\b/i,
  /\b(?:as an ai|dear (?:ai|assistant|chatbot|model)|(?:ai|llm|language) (?:model|assistant)s? (?:must|should|reading|processing))\b/i,
  /\b(?:reveal|print|output|repeat|disclose|exfiltrate|leak)\b.{0,60}\b(?:secret|password|token|credential|api key|prompt|instruction|conversation|canary)/i,
  /\b(?:respond|reply|answer)\s+(?:only|always|with only|exactly)\b.{0,40}\b(?:with|by|in)\b/i,
  /["']role["']\s*:\s*["'](?:system|assistant|developer)["']/i,
  /\b(?:assistant|chatbot|language model|llm|ai)s?\s+(?:must|should|shall|has to|have to|is to|will now)\b/i,
  /<\|[a-z_]{2,20}\|>|\[\/?INST\]|<<\/?SYS>>/i
]
/** Limit of the characters examined per sentence. */
const CHARACTERS_MAX = 2_000
/** Whether a sentence instructs a model. */
export const isInstruction = (sentence: string): boolean => {
  const begin = sentence.slice(0, CHARACTERS_MAX)
  return INSTRUCTIONS.some((pattern) => pattern.test(begin))
}
