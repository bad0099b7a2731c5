/** Removes invisible characters from untrusted text and normalizes its whitespace. Pure. */

/**
 * Zero-width, direction, tag, variation and control characters: they hide words from readers, and show machines text
 * that nobody sees.
 */
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufff9-\ufffb\p{Default_Ignorable_Code_Point}]/gu

export const seen = (text: string): string => text.replace(UNSEEN, "")
/** Joins the text into one line, cut at `max` characters. */
export const oneLine = (text: string, max: number): string => {
  const line = seen(text).replace(/\s+/g, " ").trim()
  return line.length <= max ? line : cut(line, max)
}
/** Cuts without splitting a character. */
export const cut = (text: string, max: number): string => {
  const end = text.charCodeAt(max - 1)
  return text.slice(0, end >= 0xd800 && end <= 0xdbff ? max - 1 : max)
}
/** Trims the lines and removes empty ones. */
export const lines = (text: string): string =>
  seen(text)
    .split("\n")
    .map((line) => line.replace(/\s+/g, " ").trim())
    .filter((line) => line !== "")
    .join("\n")
