/** The few sentences in answers that do not come from documents. */

interface Phrases {
  readonly nothing: (collections: string) => string
  readonly these: (found: number, shown: number) => string
}
const en: Phrases = {
  nothing: (collections) =>
    `I found nothing in ${collections} that answers this. The nearest documents are listed as sources.`,
  these: (found, shown) =>
    found > shown ? `${found} match; the first ${shown}:` : found === 1 ? "One matches:" : `${found} match:`
}
const phrases: ReadonlyMap<string, Phrases> = new Map([
  ["en", en],
  [
    "de",
    {
      nothing: (collections) =>
        `In ${collections} habe ich dazu nichts gefunden. Die nächstliegenden Dokumente stehen bei den Quellen.`,
      these: (found, shown) =>
        found > shown ? `${found} passen; die ersten ${shown}:` : found === 1 ? "Eines passt:" : `${found} passen:`
    }
  ],
  [
    "es",
    {
      nothing: (collections) =>
        `No he encontrado nada sobre esto en ${collections}. Los documentos más cercanos figuran entre las fuentes.`,
      these: (found, shown) =>
        found > shown
          ? `${found} coinciden; los primeros ${shown}:`
          : found === 1
            ? "Uno coincide:"
            : `${found} coinciden:`
    }
  ],
  [
    "fr",
    {
      nothing: (collections) =>
        `Je n'ai rien trouvé à ce sujet dans ${collections}. Les documents les plus proches figurent parmi les sources.`,
      these: (found, shown) =>
        found > shown
          ? `${found} correspondent ; les ${shown} premiers :`
          : found === 1
            ? "Un seul correspond :"
            : `${found} correspondent :`
    }
  ],
  [
    "ru",
    {
      nothing: (collections) => `В ${collections} ничего об этом не найдено. Ближайшие документы указаны в источниках.`,
      these: (found, shown) => (found > shown ? `Подходит: ${found}; первые ${shown}:` : `Подходит: ${found}.`)
    }
  ],
  [
    "zh",
    {
      nothing: (collections) => `在 ${collections} 中没有找到答案。最接近的文档列在来源中。`,
      these: (found, shown) => (found > shown ? `共有 ${found} 个符合，前 ${shown} 个：` : `有 ${found} 个符合：`)
    }
  ],
  [
    "ar",
    {
      nothing: (collections) => `لم أجد في ${collections} ما يجيب عن هذا. أقرب المستندات مذكورة في المصادر.`,
      these: (found, shown) => (found > shown ? `يطابق ${found}؛ أول ${shown}:` : `يطابق ${found}:`)
    }
  ]
])
/** English if there are none in the language. */
export const phrasesOf = (language: string): Phrases => phrases.get(language) ?? en
