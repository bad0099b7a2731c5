/**
 * The words of a question and of sentences in comparable form: folded, without accents, stemmed if the language has a
 * stemmer. Words that only make a sentence a question are omitted, because texts do not repeat them.
 */
import { createAnalyzer, hasStemmer, stemmerOf } from "@dowser/engine-sdk/analysis"

const lists: ReadonlyMap<string, string> = new Map([
  [
    "en",
    "what which who whom whose when where why how many much often long is are was were be been am do does did done has have had can could would should will shall may might must a an the of in on at by for to from with and or not it its this that these those there than then as i you he she they we me my your his her their our us them if so about into up out some any please tell kind type name called"
  ],
  [
    "de",
    "was welche welcher welches welchem welchen wer wem wen wessen wann wo wohin woher warum wieso weshalb wie viel viele lange oft ist sind war waren sei sein wird werden wurde wurden worden hat haben hatte hatten kann konnte können konnten soll sollte darf muss der die das den dem des ein eine einer eines einem einen und oder nicht in im an am auf bei von vom zu zum zur mit für aus nach als es er sie wir ihr ihre ihren seine ich du mir mich man sich auch durch über um bitte"
  ],
  [
    "es",
    "qué que cuál cuáles quién quiénes cuándo cuando dónde donde por cómo como cuánto cuánta cuántos cuántas es son era eran fue fueron ser sido está están ha han había puede pueden podría debe el la los las lo un una unos unas de del al a en con para y o no se su sus le les me mi tu yo él ella ellos ese esa esta este esto cual hay tiene tienen tipo llama"
  ],
  [
    "fr",
    "que quoi quel quelle quels quelles qui quand où pourquoi comment combien est sont était étaient fut être été a ont avait peut peuvent doit le la les l un une des de du d à au aux en dans avec pour par et ou ne pas se sa son ses leur leurs ce cet cette ces il elle ils elles on je tu nous vous y"
  ],
  ["ar", "ما ماذا من متى أين لماذا كيف كم هل أي التي الذي هو هي في على إلى عن مع كان كانت و أو"],
  [
    "ru",
    "что кто какой какая какое какие когда где почему зачем как сколько чей это в на с по из у и или не за для от к"
  ]
])
/** Chinese question words, as pairs and single characters, because the segmentation of Chinese varies. */
const zhAsks = /什么|哪些|哪个|哪里|哪|谁|多少|几|怎么|怎样|如何|为什么|何时|是否|是|的|了|在|吗|有|被/gu

const marks = /\p{M}+/gu
const folded = (word: string): string => word.toLowerCase().normalize("NFKD").replace(marks, "").normalize("NFC")

/** Text analysis for one language, created once. */
export interface Terms {
  readonly language: string
  /** In order, with repetitions. */ readonly all: (text: string) => ReadonlyArray<string>
  /** Words of a question: each once, in order. */ readonly asked: (question: string) => ReadonlyArray<string>
  /** The same, each mapped to its surface form as in indexes. */
  readonly askedWords: (question: string) => ReadonlyMap<string, string>
}

const made = new Map<string, Terms>()
const STEMMED_MAX = 40

const make = (language: string): Terms => {
  const analyzer = createAnalyzer({ locale: /^(?:zh|ja|th)$/.test(language) ? language : "" })
  const stem = hasStemmer(language) ? stemmerOf(language) : (word: string) => word
  const termOf = (word: string): string => folded(word.length > STEMMED_MAX ? word : stem(word.toLowerCase()))
  const ignored = new Set((lists.get(language) ?? "").split(" ").flatMap((word) => [folded(word), termOf(word)]))
  const words = (text: string): ReadonlyArray<string> => analyzer.tokenize(text)
  const all = (text: string) => words(text).map(termOf)
  const askedWords = (question: string): ReadonlyMap<string, string> => {
    const bare = language === "zh" ? question.replace(zhAsks, " ") : question
    const asked = new Map<string, string>()
    for (const word of words(bare)) {
      if (ignored.has(folded(word))) continue
      const term = termOf(word)
      if (term !== "" && !ignored.has(term) && !asked.has(term)) asked.set(term, word)
    }
    return asked
  }
  return { language, all, askedWords, asked: (question) => [...askedWords(question).keys()] }
}

/** Languages without a stemmer here use the default tokenizer. */
export const termsOf = (language: string): Terms => {
  const known = made.get(language)
  if (known !== undefined) return known
  const terms = make(language)
  // Caches only languages with a stemmer or word list, so that requests cannot make the cache grow.
  if (lists.has(language) || /^(?:zh|ja|th)$/.test(language) || (language !== "" && hasStemmer(language)))
    made.set(language, terms)
  return terms
}

/** Scripts of the languages above, in order of precedence. */
const scripts: ReadonlyArray<readonly [RegExp, string]> = [
  [/[\p{sc=Hiragana}\p{sc=Katakana}]/u, "ja"],
  [/\p{sc=Han}/u, "zh"],
  [/\p{sc=Thai}/u, "th"],
  [/\p{sc=Arabic}/u, "ar"],
  [/\p{sc=Cyrillic}/u, "ru"]
]
const WORD = /[\p{L}\p{M}]+/gu
const common: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [...lists].map(([language, list]) => [language, new Set(list.split(" "))])
)
/** Guesses the language of a very short question by its script, or by typical question words. */
export const likelyLanguage = (question: string): string => {
  const script = scripts.find(([pattern]) => pattern.test(question))
  if (script !== undefined) return script[1]
  const words = question.toLowerCase().match(WORD) ?? []
  let best = "en",
    most = 0
  for (const [language, list] of common) {
    const count = words.filter((word) => list.has(word)).length
    if (count > most) [best, most] = [language, count]
  }
  return best
}
